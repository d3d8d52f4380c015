"""Clients without a socket."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from odradek.broker.client import Client
from odradek.net.listener import Listener
from odradek.process.network import SocketAddress

if TYPE_CHECKING:
    from odradek.net.connection import Connection
    from odradek.process.network import Acceptor


class NoAcceptor:
    address = SocketAddress("127.0.0.1", 9092)


class NoConnection:
    """Looks like an open connection, and does nothing."""

    def __init__(self, peer: SocketAddress) -> None:
        self.peer = peer
        self.local = self.advertised = NoAcceptor.address
        self.listener = Listener("PLAINTEXT", cast("Acceptor", NoAcceptor()), None)
        self.close_reason: str | None = None
        self.closing: dict[Callable[[], object], None] = {}
        """To be called when it closes."""

    @property
    def is_closed(self) -> bool:
        return False

    def mute(self, ms: int) -> None: ...
    def hold(self, size: int) -> None: ...
    def release(self, size: int) -> None: ...

    def when_closed(self, call: Callable[[], object]) -> None:
        self.closing[call] = None

    def no_longer_when_closed(self, call: Callable[[], object]) -> None:
        self.closing.pop(call, None)


def client_at(host: str = "127.0.0.1", port: int = 50_000, connection: NoConnection | None = None) -> Client:
    made = connection or NoConnection(SocketAddress(host, port))
    return Client(cast("Connection", made))
