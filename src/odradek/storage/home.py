"""What the logs in one log directory share: open files, a clock, files waiting to be removed, and the one failure."""

import heapq
from typing import TYPE_CHECKING, NamedTuple

from odradek.model.clock import Clock
from odradek.model.errors import CorruptFile, StorageFailed
from odradek.model.numbers import TimestampMs
from odradek.storage.open_files import OpenFiles

if TYPE_CHECKING:
    from collections.abc import Callable


class Doomed(NamedTuple):
    """A file or directory under its last name, to be removed when its time has come."""

    due: TimestampMs
    path: str
    is_dir: bool


class Home:
    __slots__ = ("_doomed", "clock", "failure", "open_files", "path", "store_checkpoints", "when_failed")

    def __init__(self, path: str, open_files: OpenFiles, clock: Clock) -> None:
        self.path = path
        self.open_files = open_files
        self.clock = clock
        self.failure: str | None = None
        """Why this directory is not used any more, until it is opened again."""
        self.store_checkpoints: Callable[[], None] = _do_nothing
        """Writes the checkpoints of the directory now: for a log whose offsets fell."""
        self.when_failed: Callable[[], object] = _do_nothing
        """Told when it is taken out of service, by any thread."""
        self._doomed: list[Doomed] = []

    def check(self) -> None:
        if self.failure is not None:
            raise StorageFailed(f"log directory {self.path} is offline: {self.failure}")

    def fail(self, error: OSError | CorruptFile) -> StorageFailed:
        """Take the directory out of service. A disk that failed once is not trusted with the next write."""
        if self.failure is None:
            self.failure = str(error)
            self.when_failed()
        return StorageFailed(f"log directory {self.path} failed: {error}")

    def doom(self, path: str, delay_ms: int, *, is_dir: bool = False) -> None:
        heapq.heappush(self._doomed, Doomed(TimestampMs(self.clock.now_ms() + delay_ms), path, is_dir))

    def take_due(self, now: TimestampMs) -> list[Doomed]:
        """What is to be removed now."""
        due = []
        while self._doomed and self._doomed[0].due <= now:
            due.append(heapq.heappop(self._doomed))
        return due

    @property
    def doomed_count(self) -> int:
        return len(self._doomed)


def _do_nothing() -> None:
    return
