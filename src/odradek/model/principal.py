"""Who a client is, once it has said so."""

from typing import NamedTuple


class Principal(NamedTuple):
    type: str
    name: str

    def __str__(self) -> str:
        """As ACLs and `super.users` write it."""
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
"""A client that has not said who it is."""
