"""Requests and responses: a file for each API. `odradek.wire.apis` finds them by key."""
