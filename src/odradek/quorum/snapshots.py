"""The snapshots in the directory of the metadata log: finding the newest, and letting go of the oldest.

At least one stays, and the log from its end on. Older ones go, and the log before the oldest with them, when all of it
is larger than metadata.max.retention.bytes, or the oldest is older than metadata.max.retention.ms.
"""

from typing import NamedTuple

from odradek.metadata.draft import Inconsistent
from odradek.metadata.image import Image
from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import NO_TIMESTAMP, TimestampMs
from odradek.quorum import batches, snapshot_file
from odradek.quorum.snapshot_file import SnapshotId
from odradek.storage.log import Log
from odradek.storage.recovery import Event
from odradek.wire.records.control import SnapshotHeaderRecord

_UNFINISHED = (".checkpoint.part", ".checkpoint.deleted")
_CORRUPT = ".corrupt"
_HEADER_BYTES = 4096


class Loaded(NamedTuple):
    id: SnapshotId
    image: Image


class Retention(NamedTuple):
    bytes_max: int
    age_ms_max: int


class Snapshots:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._files = log.log_dir.files
        self._sizes: dict[SnapshotId, int] = {}
        """By end offset, low to high."""

    @property
    def ids(self) -> tuple[SnapshotId, ...]:
        return tuple(self._sizes)

    def load(self, events: list[Event]) -> Loaded | None:
        """The newest one that is whole. What a crash left unfinished is removed; a damaged one is set aside.

        Raises CorruptFile where the log does not start at 0 and no snapshot says what was before.
        """
        self._list()
        for snapshot in reversed(self.ids):
            path = self._path(snapshot)
            try:
                content = snapshot_file.parse(self._files.read_whole(path), path)
                return Loaded(snapshot, content.image(snapshot))
            except (CorruptFile, Inconsistent) as error:
                self._files.rename(path, path + _CORRUPT)
                del self._sizes[snapshot]
                events.append(Event("setting a damaged snapshot aside", {"path": path, "reason": str(error)}))
        if self._log.start_offset > 0:
            raise CorruptFile(
                f"{self._log.directory}: starts at {self._log.start_offset}, and has no snapshot of before"
            )
        return None

    def _list(self) -> None:
        found: dict[SnapshotId, int] = {}
        for entry in self._files.list(self._log.directory):
            snapshot = snapshot_file.parse_name(entry.name)
            if snapshot is not None and snapshot.end_offset >= self._log.start_offset:
                found[snapshot] = entry.size
            elif snapshot is not None or entry.name.endswith(_UNFINISHED):
                self._files.remove(f"{self._log.directory}/{entry.name}")
        self._sizes = dict(sorted(found.items()))

    def add(self, snapshot: SnapshotId, size: int) -> None:
        self._sizes[snapshot] = size

    def clean(self, retention: Retention, now: TimestampMs) -> None:
        """Let go of what is over the limits, as long as a later snapshot has it all."""
        while len(self._sizes) > 1 and self._is_over(self.ids[0], retention, now):
            oldest, following = self.ids[:2]
            self._log.advance_start(following.end_offset)
            self._log.apply_retention(now)
            self._files.remove(self._path(oldest))
            del self._sizes[oldest]

    def _is_over(self, oldest: SnapshotId, retention: Retention, now: TimestampMs) -> bool:
        size = self._log.size + sum(self._sizes.values())
        if 0 <= retention.bytes_max < size:
            return True
        return 0 <= retention.age_ms_max < now - self._timestamp(oldest)

    def _timestamp(self, snapshot: SnapshotId) -> TimestampMs:
        """Of the last record that it contains."""
        file = self._files.open_to_read(self._path(snapshot))
        try:
            data = file.read(_HEADER_BYTES, 0)
        finally:
            file.close()
        try:
            for head, view in batches.split(memoryview(data)):
                for control in batches.read_control(view, head):
                    if isinstance(control, SnapshotHeaderRecord):
                        return TimestampMs(control.last_contained_log_timestamp)
        except CorruptBatch:
            pass  # as if it were old: it is of no use
        return NO_TIMESTAMP

    def _path(self, snapshot: SnapshotId) -> str:
        return f"{self._log.directory}/{snapshot.name}"
