"""Byte streams between processes: what a node asks of a network, so that a simulation can be one.

Nothing here blocks. A call that would have to wait raises BlockingIOError; the callbacks say when it need not.
"""

from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, Protocol, TypeAlias

from odradek.model.buffer import Buffer


class SocketAddress(NamedTuple):
    """An IPv4 address is written as one, also where a socket for IPv6 took the connection."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(host: str) -> str | None:
    """An IP address as `Channel.peer` has it, however it was written; None for what is the name of a host."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


class FileRange(Protocol):
    """A range of a file, as a part of an answer. It can be read until `release` is called, once."""

    position: int
    size: int

    def fileno(self) -> int:
        """For a channel that lets the kernel copy the range. Only files of the operating system have one."""
        ...

    def read(self, position: int, size: int) -> bytes:
        """For any other channel. `position` counts from the start of the file. Raises OSError, also where the file
        ends before the range does."""
        ...

    def release(self) -> None: ...


Part: TypeAlias = Buffer | FileRange


class Channel(Protocol):
    """One end of a connected byte stream. Every call but `close` may raise OSError when the stream is broken."""

    local: SocketAddress
    peer: SocketAddress

    def receive_into(self, buffer: Buffer, /) -> int:
        """How many bytes came; 0 when the peer has ended the stream. Raises BlockingIOError when none are here."""
        ...

    def send(self, data: Buffer, /) -> int:
        """How many bytes were taken, at least one. Raises BlockingIOError when none were."""
        ...

    def send_parts(self, parts: Sequence[Part], sent_of_first: int) -> int:
        """The same for several parts, in their order; so much of the first was taken before.

        May take less than the stream has room for: the caller goes on until BlockingIOError is raised.
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


def gather(parts: Sequence[Part], sent_of_first: int, size_max: int) -> bytes:
    """For channels that copy what they send: the next bytes of some parts, at most so many. Raises OSError."""
    gathered = bytearray()
    skip = sent_of_first
    for part in parts:
        room = size_max - len(gathered)
        if room == 0:
            break
        if isinstance(part, (bytes, bytearray, memoryview)):
            gathered += memoryview(part)[skip : skip + room]
        else:
            gathered += part.read(part.position + skip, min(part.size - skip, room))
        skip = 0
    return bytes(gathered)


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
