"""What waits to be sent on a socket: bytes, and ranges of files that go out without being copied here."""

import os
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

Bytes = bytes | bytearray | memoryview

_MSG_MORE = getattr(socket, "MSG_MORE", 0)
_BUFFERS_AT_ONCE = 64


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
            if isinstance(part, (bytes, bytearray, memoryview)):
                self.size += len(part)
            self._parts.append(part)

    def send(self, sock: socket.socket) -> bool:
        """True when everything is sent, False when the socket takes no more for now; OSError when it is broken."""
        try:
            while self._parts:
                if isinstance(self._parts[0], (bytes, bytearray, memoryview)):
                    self._send_bytes(sock)
                else:
                    self._send_file(sock, self._parts[0])
        except (BlockingIOError, InterruptedError):
            return False
        return True

    def clear(self) -> None:
        release(self._parts)
        self._parts.clear()
        self.size = self._sent_of_first = 0

    def _send_bytes(self, sock: socket.socket) -> None:
        """The bytes up to the next file, in one call."""
        run: list[Bytes] = []
        more = False
        for part in self._parts:
            if not isinstance(part, (bytes, bytearray, memoryview)):
                more = True
                break
            if len(run) == _BUFFERS_AT_ONCE:
                break
            run.append(part)
        if self._sent_of_first:
            run[0] = memoryview(run[0])[self._sent_of_first :]
        if len(run) == 1:
            sent = sock.send(run[0], _MSG_MORE if more else 0)
        else:
            sent = sock.sendmsg(run, (), _MSG_MORE if more else 0)
        self.size -= sent
        for part in run:
            if sent < len(part):
                self._sent_of_first = sent if part is not run[0] else self._sent_of_first + sent
                return
            sent -= len(part)
            self._parts.popleft()
            self._sent_of_first = 0

    def _send_file(self, sock: socket.socket, part: FileRange) -> None:
        done = self._sent_of_first
        sent = os.sendfile(sock.fileno(), part.fileno(), part.position + done, part.size - done)
        if sent == 0:
            raise OSError(f"a file ended {part.size - done} bytes before its range did")
        if done + sent == part.size:
            self._parts.popleft()
            self._sent_of_first = 0
            part.release()
        else:
            self._sent_of_first = done + sent
