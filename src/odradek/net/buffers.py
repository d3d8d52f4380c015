"""Memory for what comes in: one buffer that all connections read into, and some large ones that are used again."""

_KEPT = 8
_KEPT_BYTES_MAX = 4 << 20


class Buffers:
    """Frames that arrive whole are handled where they were read. One that does not gets a buffer of its own; those are
    kept for the next, since a fresh megabyte costs a fault for each of its pages."""

    __slots__ = ("_kept", "shared")

    def __init__(self, shared_bytes: int = 256 << 10) -> None:
        self.shared = memoryview(bytearray(shared_bytes))
        self._kept: list[bytearray] = []

    def take(self, size: int) -> bytearray:
        """A buffer of at least `size` bytes, with anything in it."""
        for number, buffer in enumerate(self._kept):
            if size <= len(buffer) <= 4 * size:
                return self._kept.pop(number)
        return bytearray(size)

    def give_back(self, buffer: bytearray) -> None:
        if len(buffer) <= _KEPT_BYTES_MAX:
            self._kept.append(buffer)
            if len(self._kept) > _KEPT:
                del self._kept[0]
