"""Frames: each message on a connection comes behind its size, an int32 that does not count itself."""

from collections.abc import Iterator
from struct import Struct as Packing

from odradek.model.errors import BadRequest
from odradek.records.varint import Bytes
from odradek.wire.codec import encode_onto
from odradek.wire.header import has_tagged_header, write_request_head
from odradek.wire.schema import InFile, Message
from odradek.wire.writing import Parts, size_of

_SIZE = Packing(">i")
_START = Packing(">ii")

BUFFER_BYTES = 64 << 10
_STEP_BYTES = 1 << 20


class Frames:
    """Cuts the bytes of a connection into frames, whatever the pieces in which they arrive.

    Bytes are received into the memory that `space` gives, and stay there: a frame is a view on it. `take` says how many
    came and gives the frames that are whole. These are valid until `space` is called again.

    The buffer grows for a frame that is larger, but not to a size that is only claimed: to 1 MiB, and from there each
    time to twice what has arrived. It stays that large until `trim`.
    """

    __slots__ = ("_buffer", "_end", "_size_max", "_start", "_view")

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._start = 0
        """Where the frame begins that is not whole yet."""
        self._end = 0
        """Where the next bytes go."""
        self._allocate(BUFFER_BYTES)

    def space(self) -> memoryview:
        """Never empty."""
        if self._start == self._end:
            self._start = self._end = 0
        else:
            self._make_room()
        return self._view[self._end :]

    def take(self, count: int) -> list[memoryview]:
        """Raises BadRequest for a size below zero or above the limit. There is no way to go on from there."""
        self._end += count
        frames = []
        while self._end - self._start >= _SIZE.size:
            end = self._start + self._wanted()
            if end > self._end:
                break
            frames.append(self._view[self._start + _SIZE.size : end])
            self._start = end
        return frames

    def feed(self, data: Bytes) -> Iterator[memoryview]:
        """The same for bytes that are somewhere else. A frame is valid until the next one is asked for."""
        rest = memoryview(data)
        while rest:
            space = self.space()
            count = min(len(space), len(rest))
            space[:count] = rest[:count]
            rest = rest[count:]
            yield from self.take(count)

    def trim(self) -> None:
        """Gives back what a large frame took, unless a frame has begun to arrive. To be called when nothing does."""
        if self._start == self._end and len(self._buffer) > BUFFER_BYTES:
            self._start = self._end = 0
            self._allocate(BUFFER_BYTES)

    def _wanted(self) -> int:
        """Bytes of the frame that is not whole yet, its size included. At least that size must be there."""
        (size,) = _SIZE.unpack_from(self._buffer, self._start)
        if not 0 <= size <= self._size_max:
            raise BadRequest(f"frame of {size} bytes, where {self._size_max} are the most")
        return _SIZE.size + int(size)

    def _make_room(self) -> None:
        pending = self._view[self._start : self._end]
        wanted = self._wanted() if len(pending) >= _SIZE.size else _SIZE.size
        length = len(self._buffer)
        if self._end < length and length - self._start >= min(wanted, _STEP_BYTES):
            return
        needed = min(wanted, max(2 * len(pending), _STEP_BYTES))
        if needed > length:
            self._allocate(needed)
            self._view[: len(pending)] = pending
        else:
            self._view[: len(pending)] = bytes(pending)  # a copy, since the two may overlap
        self._start, self._end = 0, len(pending)

    def _allocate(self, length: int) -> None:
        self._buffer = bytearray(length)
        self._view = memoryview(self._buffer)


def request_frame(request: Message, version: int, correlation_id: int, client_id: str) -> Parts:
    """The frame of a request, in parts to be sent one after the other."""
    out = bytearray(_SIZE.size)
    write_request_head(out, request, version, correlation_id, client_id.encode())
    parts = _with_body(out, request, version)
    _SIZE.pack_into(out, 0, _sum(parts) - _SIZE.size)
    return parts


def response_frame(response: Message, version: int, correlation_id: int) -> Parts:
    """The frame of a response, in parts to be sent one after the other: mostly one."""
    out = bytearray(_START.size + has_tagged_header(type(response), version))
    parts = _with_body(out, response, version)
    size = len(out) if len(parts) == 1 else _sum(parts)
    _START.pack_into(out, 0, size - _SIZE.size, correlation_id)
    return parts


def _with_body(out: bytearray, message: Message, version: int) -> Parts:
    parts: Parts = []
    parts.append(encode_onto(out, parts, message, version))
    return parts


def _sum(parts: list[Bytes | InFile]) -> int:
    return sum(map(size_of, parts))
