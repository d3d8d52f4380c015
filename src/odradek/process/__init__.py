"""What every process of ours has of the machine that it runs on: a clock, and lines in a log."""
