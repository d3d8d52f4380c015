"""Groups under churn: the real coordinator of groups, clients of our own, and checkers that watch all of it."""
