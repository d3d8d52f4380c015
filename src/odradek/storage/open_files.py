"""A bounded set of open files, so that thousands of partitions live under a limit of some hundred handles.

A `Handle` stands for a file that is opened when it is used. When the set is full, the one that has not been used for
longest (by a clock hand with a second chance) is closed; it opens again by itself. A pinned handle stays open: a
thread syncs it. One that is held can be opened again even when its file is deleted: a socket sends from it, maybe for
minutes, and such sockets may be many.
"""

from collections import deque
from contextlib import suppress

from odradek.process.files import File, Files

CAPACITY_LEAST = 16


class Handle:
    """A file that costs a descriptor only while it is in use."""

    __slots__ = ("_owner", "_used", "file", "holds", "path", "pins")

    def __init__(self, owner: "OpenFiles", path: str) -> None:
        self._owner = owner
        self._used = False
        self.path = path
        self.file: File | None = None
        self.pins = 0
        self.holds = 0

    def get(self) -> File:
        self._used = True
        return self.file or self._owner.open(self)

    def create(self) -> File:
        """As `get`, for a file that may not exist yet."""
        self._used = True
        return self.file or self._owner.open(self, create=True)

    def pin(self) -> File:
        """Keep it open until `unpin`, also past `close`."""
        file = self.get()
        self.pins += 1
        return file

    def unpin(self) -> None:
        self.pins -= 1
        if self.path == "":
            self.close()

    def hold(self) -> None:
        """Be able to open it until `let_go`, also past `forget`. That takes no descriptor before."""
        self.holds += 1

    def let_go(self) -> None:
        self.holds -= 1
        if self.path == "":
            self.close()

    def close(self) -> None:
        """Let go of the file; a pinned one closes with its last pin. It opens again at the next use."""
        if not self._must_stay_open:
            self._owner.close(self)

    def forget(self) -> None:
        """As `close`, for a file that is deleted or renamed: this handle will not open again."""
        if self.holds:
            with suppress(OSError):  # those who hold it find out when they use it
                self.get()
        self.path = ""
        self.close()

    @property
    def _must_stay_open(self) -> bool:
        return self.pins > 0 or (self.holds > 0 and self.path == "")

    def take_second_chance(self) -> bool:
        used, self._used = self._used, False
        return used or self._must_stay_open


class OpenFiles:
    """The owner of all handles on one `Files`."""

    __slots__ = ("_capacity", "_open", "files")

    def __init__(self, files: Files, capacity: int = 512) -> None:
        self.files = files
        self._capacity = max(capacity, CAPACITY_LEAST)
        self._open: deque[Handle] = deque()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, handle: Handle, *, create: bool = False) -> File:
        if len(self._open) >= self._capacity:
            self._make_room()
        file = self.files.open(handle.path, create=create)
        handle.file = file
        self._open.append(handle)
        return file

    def close(self, handle: Handle) -> None:
        if handle.file is not None:
            handle.file.close()
            handle.file = None
            self._open.remove(handle)

    def _make_room(self) -> None:
        for _ in range(2 * len(self._open)):  # twice around: the first round may only take second chances
            if len(self._open) < self._capacity:
                return
            handle = self._open.popleft()
            if not handle.take_second_chance() and handle.file is not None:
                handle.file.close()
                handle.file = None
                continue
            self._open.append(handle)
        # All are pinned: go over the capacity for a moment rather than fail.


def capacity_within(limit: int) -> int:
    """How many segment files to keep open when the process may open `limit` files: the rest is for sockets."""
    return max(CAPACITY_LEAST, min(limit // 2, 16_384))
