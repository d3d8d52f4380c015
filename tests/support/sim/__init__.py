"""Simulations: all of a run happens on one thread, in virtual time, by one seed, so that a seed is a whole history."""
