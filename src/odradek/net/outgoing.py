"""What waits to be sent on a socket: bytes, and ranges of files, which are not read into memory of ours."""

import mmap
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

Bytes = bytes | bytearray | memoryview

_MSG_MORE = getattr(socket, "MSG_MORE", 0)
_BUFFERS_AT_ONCE = 64
_WINDOW_BYTES = 1 << 20


class FileRange(Protocol):
    """A range of an open file. It stays open until `release` is called, once."""

    position: int
    size: int

    def fileno(self) -> int: ...
    def release(self) -> None: ...


def release(parts: Iterable["Bytes | FileRange"]) -> None:
    """They will not be sent."""
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()


class Outgoing:
    """A queue in front of one socket. It never blocks: `send` sends what the socket takes now."""

    __slots__ = ("_parts", "_sent_of_first", "size")

    def __init__(self) -> None:
        self._parts: deque[Bytes | FileRange] = deque()
        self._sent_of_first = 0
        self.size = 0
        """Bytes in memory that wait; those in files are not counted."""

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, parts: Sequence["Bytes | FileRange"]) -> None:
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
            return False
        return True

    def clear(self) -> None:
        release(self._parts)
        self._parts.clear()
        self.size = self._sent_of_first = 0

    def _send_some(self, sock: socket.socket) -> int:
        """The bytes up to the next file, and what follows of that file, in one call."""
        run: list[Bytes] = []
        for part in self._parts:
            if not isinstance(part, (bytes, bytearray, memoryview)):
                more = _MSG_MORE if len(self._parts) > len(run) + 1 else 0
                return _send_with_file(sock, run, part, 0 if run else self._sent_of_first, more)
            if not run and self._sent_of_first:
                part = memoryview(part)[self._sent_of_first :]
            run.append(part)
            if len(run) == _BUFFERS_AT_ONCE:
                break
        return sock.send(run[0]) if len(run) == 1 else sock.sendmsg(run)

    def _sent(self, count: int) -> None:
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
            release((self._parts.popleft(),))


def _send_with_file(sock: socket.socket, run: list[Bytes], part: FileRange, done: int, flags: int) -> int:
    """The file comes through a map that lasts for this one call: the kernel copies what the socket takes, and nothing
    else is read. Only the kernel looks at it, so a file that was cut is an error of the call, not of the process.
    """
    start = part.position + done
    first = start - start % mmap.ALLOCATIONGRANULARITY
    size = start - first + min(part.size - done, _WINDOW_BYTES)
    try:
        with (
            mmap.mmap(part.fileno(), size, access=mmap.ACCESS_READ, offset=first) as window,
            memoryview(window) as view,
            view[start - first :] as rest,
        ):
            run.append(rest)
            try:
                return sock.sendmsg(run, (), flags)
            finally:
                run.clear()
    except ValueError as error:
        raise OSError(f"a file ended before its range did: {error}") from None
