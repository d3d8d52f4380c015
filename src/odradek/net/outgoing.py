"""What waits to be sent on a socket: bytes, and ranges of files, which are not read into memory of ours."""

import mmap
import socket
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from odradek.model.buffer import Buffer

_MSG_MORE = getattr(socket, "MSG_MORE", 0)
_BUFFERS_AT_ONCE = 64
_FILE_BYTES_AT_ONCE = 4 << 20
"""Of files, in one call: an answer to a consumer has many ranges of them, and each call has a price of its own."""
_FILE_BYTES_WHEN_FULL = 1 << 20
"""The same where the socket did not take all: what is mapped and not taken is for nothing."""


class FileRange(Protocol):
    """A range of an open file. It stays open until `release` is called, once."""

    position: int
    size: int

    def fileno(self) -> int: ...
    def release(self) -> None: ...


def release(parts: Iterable["Buffer | FileRange"]) -> None:
    """They will not be sent."""
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()


class Outgoing:
    """A queue in front of one socket. It never blocks: `send` sends what the socket takes now."""

    __slots__ = ("_has_filled", "_parts", "_sent_of_first", "size")

    def __init__(self) -> None:
        self._parts: list[Buffer | FileRange] = []  # a deque takes 760 bytes, also of a connection that is idle
        self._sent_of_first = 0
        self._has_filled = False
        """Whether the socket did not take all of what is on its way."""
        self.size = 0
        """Buffer in memory that wait; those in files are not counted."""

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, parts: Sequence["Buffer | FileRange"]) -> None:
        for part in parts:
            if not isinstance(part, (bytes, bytearray, memoryview)):
                self._parts.append(part)
            elif part:
                self._parts.append(part)
                self.size += len(part)

    def send(self, sock: socket.socket) -> bool:
        """True when everything is sent, False when the socket takes no more for now; OSError when it is broken."""
        try:
            while self._parts:
                self._sent(self._send_some(sock))
        except (BlockingIOError, InterruptedError):
            self._has_filled = True
            return False
        self._has_filled = False
        return True

    def clear(self) -> None:
        release(self._parts)
        self._parts.clear()
        self.size = self._sent_of_first = 0

    def _send_some(self, sock: socket.socket) -> int:
        """As much as one call is given, in the order in which it came."""
        done = self._sent_of_first
        first = self._parts[0]
        if len(self._parts) == 1 and isinstance(first, (bytes, bytearray, memoryview)):
            return sock.send(memoryview(first)[done:] if done else first)
        room = _FILE_BYTES_WHEN_FULL if self._has_filled else _FILE_BYTES_AT_ONCE
        run: list[Buffer] = []
        with _Maps() as maps:
            for part in self._parts:
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
                done = 0
                if room == 0 or len(run) == _BUFFERS_AT_ONCE:
                    break
            return sock.sendmsg(run, (), _MSG_MORE if len(run) < len(self._parts) else 0)

    def _sent(self, count: int) -> None:
        if count == self.size and len(self._parts) == 1 and not self._sent_of_first:
            self._parts.clear()
            self.size = 0
            return
        while count:
            first = self._parts[0]
            if isinstance(first, (bytes, bytearray, memoryview)):
                left = len(first) - self._sent_of_first
                self.size -= min(left, count)
            else:
                left = first.size - self._sent_of_first
            if count < left:
                self._sent_of_first += count
                return
            count -= left
            self._sent_of_first = 0
            release((self._parts.pop(0),))


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
