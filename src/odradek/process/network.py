"""Byte streams between processes: what a node asks of a network, so that a simulation can be one.

Nothing here blocks. A call that would have to wait raises BlockingIOError; the callbacks say when it need not.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from odradek.model.buffer import Buffer


class SocketAddress(NamedTuple):
    """An IPv4 address is written as one, also where a socket for IPv6 took the connection."""

    host: str
    port: int


class Channel(Protocol):
    """One end of a connected byte stream. Every call but `close` may raise OSError when the stream is broken."""

    local: SocketAddress
    peer: SocketAddress

    def receive_into(self, buffer: Buffer) -> int:
        """How many bytes came; 0 when the peer has ended the stream. Raises BlockingIOError when none are here."""
        ...

    def send(self, parts: Sequence[Buffer], *, more: bool = False) -> int:
        """How many bytes were taken, of all parts together. Raises BlockingIOError when none were.

        `more` says that more is about to be sent, so that what is small may wait for it.
        """
        ...

    def on_readable(self, callback: Callable[[], object] | None) -> None:
        """Call this whenever `receive_into` would not block; None ends it."""
        ...

    def on_writable(self, callback: Callable[[], object] | None) -> None:
        """Call this whenever `send` would not block; None ends it."""
        ...

    def close(self) -> None:
        """May be called again. Callbacks end."""
        ...


class ListenOptions(NamedTuple):
    backlog: int = 50
    """socket.listen.backlog.size"""
    send_buffer_bytes: int = -1
    """socket.send.buffer.bytes; -1 for what the system finds best."""
    receive_buffer_bytes: int = -1


class Acceptor(Protocol):
    """A port that is listened on."""

    address: SocketAddress

    def accept(self) -> Channel:
        """Raises BlockingIOError when nobody waits, ConnectionAbortedError when one who waited has left, and OSError
        when the process may have no more connections."""
        ...

    def on_acceptable(self, callback: Callable[[], object] | None) -> None:
        """Call this whenever `accept` would not block; None ends it."""
        ...

    def close(self) -> None: ...


class Network(Protocol):
    def listen(self, host: str, port: int, options: ListenOptions = ListenOptions()) -> Acceptor:  # noqa: B008
        """At all addresses of the machine if `host` is empty; at a free port if `port` is 0. Raises OSError."""
        ...

    async def dial(self, host: str, port: int) -> Channel:
        """Connect. Raises OSError; cancel it to give up sooner than the system does."""
        ...

    async def resolve(self, host: str) -> frozenset[str]:
        """The addresses of a host, as `Channel.peer` writes them; none where it has none. Never holds the loop."""
        ...
