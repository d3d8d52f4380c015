"""Groups of consumers that move between the two protocols while they run, and members of both in one group."""
