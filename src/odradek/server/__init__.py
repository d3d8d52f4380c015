"""A node as a process: what it is told at its start, and how its parts are put together."""
