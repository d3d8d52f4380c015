"""Fakes for tests: a clock moved by hand, a disk that fails on request."""
