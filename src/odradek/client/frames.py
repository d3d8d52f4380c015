"""Frames out of the bytes that a broker sends, each in memory of its own."""

from struct import Struct as Packing

from odradek.model.errors import BadRequest

_SIZE = Packing(">i")
_BUFFER_BYTES = 64 << 10


class ResponseFrames:
    """Bytes are received into the memory that `space` gives; `take` says how many came, and gives the whole frames.

    A frame is the caller's to keep: what was decoded from it may be views on it. One that fits into the buffer is
    copied out of it. A larger one gets memory of its size as soon as that is known, and is received there.
    """

    __slots__ = ("_buffer", "_end", "_filled", "_large", "_size_max", "_view")

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._end = 0
        """How much of the buffer has bytes of a frame that is not whole yet; it begins at 0."""
        self._large: memoryview | None = None
        self._filled = 0

    def space(self) -> memoryview:
        """Never empty."""
        if self._large is not None:
            return self._large[self._filled :]
        return self._view[self._end :]

    def take(self, count: int) -> list[memoryview]:
        """Raises BadRequest for a size below zero or above the limit. There is no way to go on from there."""
        large = self._large
        if large is None:
            return self._cut(self._end + count)
        self._filled += count
        if self._filled < len(large):
            return []
        self._large = None
        return [large]

    def _cut(self, end: int) -> list[memoryview]:
        frames = []
        at = 0
        while end - at >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._buffer, at)
            if not 0 <= size <= self._size_max:
                raise BadRequest(f"an answer of {size} bytes, where {self._size_max} are the most")
            start, stop = at + _SIZE.size, at + _SIZE.size + size
            if stop > end:
                if _SIZE.size + size > _BUFFER_BYTES:
                    self._begin_large(size, start, end)
                    at = end
                break
            frames.append(memoryview(bytes(self._view[start:stop])))
            at = stop
        if at:
            self._view[: end - at] = bytes(self._view[at:end])  # a copy, since the two may overlap
        self._end = end - at
        return frames

    def _begin_large(self, size: int, start: int, end: int) -> None:
        # Claimed and not yet there: but it costs no memory before bytes come, since the pages of zeros are not real.
        self._large = memoryview(bytearray(size))
        self._filled = end - start
        self._large[: self._filled] = self._view[start:end]
