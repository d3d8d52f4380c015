"""One address that a node listens at, as `listeners` and `advertised.listeners` name it."""

from odradek.process.network import Acceptor, Channel, SocketAddress


class Listener:
    """Each connection knows the one that accepted it."""

    __slots__ = (
        "acceptor",
        "address",
        "advertised",
        "connections",
        "is_accepting",
        "is_throttled",
        "name",
        "throttled",
    )

    def __init__(self, name: str, acceptor: Acceptor, advertised: SocketAddress | None) -> None:
        self.name = name
        self.acceptor = acceptor
        self.address = acceptor.address
        self.advertised = advertised
        """Where clients reach it; None for the address that each of them connected to."""
        self.connections = 0
        """Those that it accepted and that are open."""
        self.is_accepting = False
        self.is_throttled = False
        """Whether it accepts nothing for a time: connections came too fast."""
        self.throttled: Channel | None = None
        """A connection that is to be served after that time, or when there is room: no other is accepted before."""
