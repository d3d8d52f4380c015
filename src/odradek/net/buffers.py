"""Memory for what comes in: one buffer that all connections read into, and some large ones that are used again."""

_KEPT = 16
_KEPT_BYTES_MAX = 2 << 20
_FIRST_BYTES = 64 << 10
_GROWTH = 4


class Buffers:
    """Frames that arrive whole are handled where they were read. One that does not gets a buffer of its own; those are
    kept for the next, since a fresh megabyte costs a fault for each of its pages.

    A fresh buffer is not as large as a frame that is only announced: it is at most four times what has arrived of it,
    or 64 KiB, and grows with it. So a client cannot make us take more than a few times what it sends.
    """

    __slots__ = ("_kept", "shared")

    def __init__(self, shared_bytes: int = 256 << 10) -> None:
        self.shared = memoryview(bytearray(shared_bytes))
        self._kept: list[bytearray] = []

    def borrow(self, size: int, received: int) -> bytearray:
        """A buffer with anything in it, for a frame of `size` bytes of which some are here: larger than those."""
        for number, buffer in enumerate(self._kept):
            if size <= len(buffer) <= 4 * size:
                return self._kept.pop(number)
        return bytearray(min(size, max(_GROWTH * received, _FIRST_BYTES)))

    def grow(self, full: bytearray, size: int) -> bytearray:
        """A larger buffer for the same frame, with what is in `full`."""
        larger = self.borrow(size, len(full))
        larger[: len(full)] = full
        return larger

    def give_back(self, buffer: bytearray) -> None:
        if _FIRST_BYTES < len(buffer) <= _KEPT_BYTES_MAX:
            self._kept.append(buffer)
            if len(self._kept) > _KEPT:
                del self._kept[0]
