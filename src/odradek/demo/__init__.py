"""A broker, live events, the jobs on Spark and a page with their results: all of it with one command."""
