"""The network of the operating system: TCP sockets that never block, on the readiness events of the running loop."""

import asyncio
import mmap
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from odradek.model.buffer import Buffer
from odradek.process.network import (
    Acceptor,
    Channel,
    FileRange,
    ListenOptions,
    Part,
    SocketAddress,
    parse_address,
)
from odradek.process.resolver import Resolver

_MSG_MORE = getattr(socket, "MSG_MORE", 0)
_BUFFERS_AT_ONCE = 64
_FILE_BYTES_AT_ONCE = 4 << 20
"""Of files, in one call: an answer to a consumer has many ranges of them, and each call has a price of its own."""
_FILE_BYTES_WHEN_FULL = 1 << 20
"""The same where the socket did not take all: what is mapped and not taken is for nothing."""


def _address(name: tuple[str, int]) -> SocketAddress:
    host, port = name[:2]
    return SocketAddress(parse_address(host) or host, port)


class SocketChannel:
    """A connected TCP socket. Ranges of files are mapped for one call, and copied by the kernel (docs/adr/0007)."""

    __slots__ = ("_has_filled", "_loop", "_reads", "_sock", "_writes", "local", "peer", "receive_into", "send")

    def __init__(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        """Takes the socket over; the peer's name is what `accept` or `connect` had it from. Raises OSError."""
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._reads = self._writes = False
        self._has_filled = False
        """The socket did not take all that it was offered last."""
        self.local = _address(sock.getsockname())
        self.peer = _address(peer)
        # The socket's own, without a call in between: each is on the way of every request.
        self.receive_into: Callable[[Buffer], int] = sock.recv_into
        self.send: Callable[[Buffer], int] = sock.send

    def send_parts(self, parts: Sequence[Part], sent_of_first: int) -> int:
        run: list[Buffer] = []
        with _Maps() as maps:
            size = self._gather(parts, sent_of_first, run, maps)
            try:
                sent = self._sock.sendmsg(run, (), _MSG_MORE if len(run) < len(parts) else 0)
            except BlockingIOError:
                self._has_filled = True
                raise
        if sent == size and len(run) == len(parts):
            self._has_filled = False
        return sent

    def _gather(self, parts: Sequence[Part], done: int, run: list[Buffer], maps: "_Maps") -> int:
        """What one call is given, in its order; returns its size."""
        room = _FILE_BYTES_WHEN_FULL if self._has_filled else _FILE_BYTES_AT_ONCE
        total = 0
        for part in parts:
            if isinstance(part, (bytes, bytearray, memoryview)):
                run.append(memoryview(part)[done:] if done else part)
            else:
                size = min(part.size - done, room)
                try:
                    run.append(maps.view(part, part.position + done, size))
                except OSError:
                    if not run:
                        raise
                    break  # what comes before it is sent all the same
                room -= size
            total += len(run[-1])
            done = 0
            if room == 0 or len(run) == _BUFFERS_AT_ONCE:
                break
        return total

    def on_readable(self, callback: Callable[[], object] | None) -> None:
        if callback is not None:
            self._loop.add_reader(self._sock.fileno(), callback)
        elif self._reads:
            self._loop.remove_reader(self._sock.fileno())
        self._reads = callback is not None

    def on_writable(self, callback: Callable[[], object] | None) -> None:
        if callback is not None:
            self._loop.add_writer(self._sock.fileno(), callback)
        elif self._writes:
            self._loop.remove_writer(self._sock.fileno())
        self._writes = callback is not None

    def close(self) -> None:
        self.on_readable(None)
        self.on_writable(None)
        self._sock.close()


class _Maps:
    """Ranges of files as views, for one call: the kernel copies what the socket takes, and nothing else is read.

    Only the kernel looks at them, so a file that was cut is an error of the call, not of the process.
    """

    __slots__ = ("_maps", "_views")

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []
        self._views: list[memoryview] = []

    def view(self, part: FileRange, start: int, size: int) -> memoryview:
        before = start % mmap.ALLOCATIONGRANULARITY
        try:
            made = mmap.mmap(part.fileno(), before + size, access=mmap.ACCESS_READ, offset=start - before)
        except ValueError as error:
            raise OSError(f"a file ended before its range did: {error}") from None
        self._maps.append(made)
        view = memoryview(made)[before:]
        self._views.append(view)
        return view

    def __enter__(self) -> "_Maps":
        return self

    def __exit__(self, *_: object) -> None:
        for view in self._views:
            view.release()
        for each in self._maps:
            each.close()


class SocketAcceptor:
    __slots__ = ("_accepts", "_loop", "_sock", "address")

    def __init__(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._accepts = False
        self.address = _address(sock.getsockname())

    def accept(self) -> Channel:
        sock, peer = self._sock.accept()
        try:
            return SocketChannel(sock, peer)
        except OSError as error:
            sock.close()
            raise ConnectionAbortedError(str(error)) from None

    def on_acceptable(self, callback: Callable[[], object] | None) -> None:
        if callback is not None:
            self._loop.add_reader(self._sock.fileno(), callback)
        elif self._accepts:
            self._loop.remove_reader(self._sock.fileno())
        self._accepts = callback is not None

    def close(self) -> None:
        self.on_acceptable(None)
        self._sock.close()


class SystemNetwork:
    def __init__(self) -> None:
        self._resolver = Resolver()

    def listen(self, host: str, port: int, options: ListenOptions = ListenOptions()) -> Acceptor:  # noqa: B008
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Those who connect inherit the sizes.
            if options.send_buffer_bytes >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
            if options.receive_buffer_bytes >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
            sock.bind((host, port))
            sock.listen(options.backlog)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        return SocketAcceptor(sock)

    async def dial(self, host: str, port: int) -> Channel:
        failure: OSError = OSError(f"{host} has no address")
        for address in sorted(await self.resolve(host), key=lambda each: ":" in each):  # IPv4 first
            try:
                return await _connect(address, port)
            except OSError as error:
                failure = error
        raise failure

    async def resolve(self, host: str) -> frozenset[str]:
        return await self._resolver.resolve(host)


async def _connect(address: str, port: int) -> Channel:
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
        return SocketChannel(sock, (address, port))
    except BaseException:
        with suppress(OSError):
            sock.close()
        raise
