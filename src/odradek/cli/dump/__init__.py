"""Printing the files of a data directory, a module for each kind of file.

The lines have the form of Apache Kafka's DumpLogSegments, so that scripts and eyes that know it find their way.
"""
