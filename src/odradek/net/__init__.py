"""Sockets in: listeners and connections. Frames come out, replies go in; what they mean is not known here."""
