"""Live events that never were: the same seed gives the same ones, byte by byte."""
