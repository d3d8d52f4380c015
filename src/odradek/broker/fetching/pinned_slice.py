"""A range of a segment on its way to a socket."""

from odradek.storage.segment import Slice


class PinnedSlice:
    """Can be sent whatever happens to its segment meanwhile, and costs no descriptor while it waits."""

    __slots__ = ("_handle", "position", "size")

    def __init__(self, part: Slice) -> None:
        self._handle = part.handle
        self.position: int = part.position
        self.size = part.size
        part.handle.hold()

    def fileno(self) -> int:
        return self._handle.get().fileno()

    def read(self, position: int, size: int) -> bytes:
        found = self._handle.get().read(size, position)
        if len(found) < size:
            raise OSError("a file ended before its range did")
        return found

    def release(self) -> None:
        self._handle.let_go()
