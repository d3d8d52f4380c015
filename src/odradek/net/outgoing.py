"""What waits to be sent on a channel: bytes, and ranges of files, which are not read into memory here."""

from collections.abc import Iterable, Sequence
from typing import Any

from odradek.process.network import Channel, Part

_JOINED_BYTES_MAX = 64 << 10
"""Up to this size, one call for bytes that were copied together costs less than one that is given each of them."""


def release(parts: Iterable[Part]) -> None:
    """They will not be sent."""
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()


class Outgoing:
    """A queue in front of one channel. It never blocks: `send` sends what the channel takes now."""

    __slots__ = ("_ranges", "_sent_of_first", "parts", "size")

    def __init__(self) -> None:
        self.parts: list[Part] = []  # a deque takes 760 bytes, also of a connection that is idle
        self.size = 0
        """Bytes in memory that wait; those in files are not counted."""
        self._ranges = 0
        """Of files, among the parts."""
        self._sent_of_first = 0

    def add(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if not isinstance(part, (bytes, bytearray, memoryview)):
                self.parts.append(part)
                self._ranges += 1
            elif part:
                self.parts.append(part)
                self.size += len(part)

    def send(self, channel: Channel) -> bool:
        """True when everything is sent, False when the channel takes no more for now; OSError when it is broken."""
        parts: list[Any] = self.parts
        try:
            while parts:
                if self._ranges or (len(parts) > 1 and (self.size > _JOINED_BYTES_MAX or self._sent_of_first)):
                    self._sent(channel.send_parts(parts, self._sent_of_first))
                    continue
                data = parts[0] if len(parts) == 1 else b"".join(parts)
                count = channel.send(data if not self._sent_of_first else memoryview(data)[self._sent_of_first :])
                if count == self.size:
                    parts.clear()
                    self.size = self._sent_of_first = 0
                    return True
                self._sent(count)
        except (BlockingIOError, InterruptedError):
            return False
        return True

    def clear(self) -> None:
        release(self.parts)
        self.parts.clear()
        self.size = self._ranges = self._sent_of_first = 0

    def _sent(self, count: int) -> None:
        while count:
            first = self.parts[0]
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
            del self.parts[0]
            if not isinstance(first, (bytes, bytearray, memoryview)):
                self._ranges -= 1
                first.release()
