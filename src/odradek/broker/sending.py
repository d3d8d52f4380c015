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

    def release(self) -> None:
        self._handle.let_go()
