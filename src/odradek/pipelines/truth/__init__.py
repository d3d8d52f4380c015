"""What the jobs must give, worked out from the simulated events in plain Python.

Nothing here calls the code of a job, and nothing works in the way in which a job does: both being wrong alike is
unlikely. A result is a pair of its key and the fields of its value.
"""
