"""Who is at the other end of a connection. What is refused, throttled or logged goes by this."""

from odradek.broker.quotas.byte_rates import Grant
from odradek.model.principal import ANONYMOUS
from odradek.net.connection import Connection
from odradek.process.network import SocketAddress

_UNKNOWN = "unknown"


class Client:
    """Made when a connection opens; every `Call` has that of its connection."""

    __slots__ = ("connection", "grant", "host", "listener", "principal", "software_name", "software_version")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.listener = connection.listener.name
        """The name of the listener that accepted it."""
        self.host = connection.peer.host
        """Its IP address; an IPv4 address also where it came in over a socket for IPv6."""
        self.principal = ANONYMOUS
        self.software_name = self.software_version = _UNKNOWN
        """What it said of itself with ApiVersions."""
        self.grant = Grant()
        """Of bytes that it may produce before they count."""

    @property
    def address(self) -> SocketAddress:
        return self.connection.peer

    @property
    def advertised(self) -> SocketAddress:
        """Where it reaches this node."""
        return self.connection.advertised
