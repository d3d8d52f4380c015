"""A range of a segment on its way to a socket."""

from odradek.storage.segment import Slice


class PinnedSlice:
    """Keeps its file open until it is sent, whatever happens to the segment meanwhile."""

    __slots__ = ("_handle", "position", "size")

    def __init__(self, part: Slice) -> None:
        self._handle = part.handle
        self.position: int = part.position
        self.size = part.size
        part.handle.pin()

    def fileno(self) -> int:
        return self._handle.get().fileno()

    def release(self) -> None:
        self._handle.unpin()
