"""The segments of one partition on disk: read, made, removed, synced.

What they hold, and which of it may go, is for `Log` to say, which this is the lower half of.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from odradek.model.errors import BatchTooLarge, OffsetOutOfRange, StorageFailed
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import sync_file
from odradek.records.batch import BatchHead
from odradek.records.record import Record
from odradek.storage import names
from odradek.storage.log_dir import LogDir
from odradek.storage.open_files import Handle
from odradek.storage.recovery import Recovered
from odradek.storage.segment import RELATIVE_OFFSET_MAX, Segment, Sizes, Slice
from odradek.storage.segments import FoundTime, Segments
from odradek.storage.transaction_index import AbortedTxn

Jitter = Callable[[int], int]
"""Given segment.jitter.ms, how much earlier than segment.ms the next segment is rolled."""

_SMALL_FILES = frozenset((names.LEADER_EPOCHS, names.PARTITION_METADATA))
_FILES = ("_new_names", "_segments", "_was_clean", "_writable", "directory", "log_dir", "recovery_point")
"""What a log knows of its files, and nothing of the records in them."""


class SyncJob(NamedTuple):
    """Files to sync, away from the thread that owns the log, and what is safe once that is done."""

    handles: list[Handle]
    through: Offset
    new_names: bool
    """Files were made, removed or replaced since the last sync: names and small files must be synced too."""
    cuts: int
    """How often the log had been cut when this began."""
    directory: str
    """Where the files are; the log may move to another directory meanwhile."""
    log_dir: LogDir


def no_jitter(_jitter_ms: int) -> int:
    return 0


P = ParamSpec("P")
T = TypeVar("T")
L = TypeVar("L", bound="LocalLog")


def handles_io_errors(method: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """The log directory must be in service; an OSError takes it out of service."""

    @wraps(method)
    def call(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.log_dir.check_online()
        try:
            return method(self, *args, **kwargs)
        except OSError as error:
            raise self._failed(error) from error

    return call


class LocalLog:
    __slots__ = (
        "_abandoned",
        "_cuts",
        "_is_truncating",
        "_jitter",
        "_jitter_ms",
        "_new_names",
        "_released_config",
        "_segments",
        "_was_clean",
        "_writable",
        "config",
        "directory",
        "end_offset",
        "last_flush_ms",
        "log_dir",
        "partition",
        "recovery_point",
        "start_offset",
    )

    def __init__(
        self,
        log_dir: LogDir,
        directory: str,
        partition: TopicPartition,
        config: TopicConfig,
        recovered: Recovered,
        jitter: Jitter,
    ) -> None:
        self.log_dir = log_dir
        self.directory = directory
        self.partition = partition
        self.config = config
        self._released_config: TopicConfig | None = None
        """While the log is held: its config before, and after."""
        self.start_offset = recovered.log_start
        self.end_offset = recovered.end_offset
        self.recovery_point = recovered.recovery_point
        self.last_flush_ms = log_dir.clock.now_ms()
        self._segments = Segments(recovered.segments)
        self._writable: Segment | None = None
        self._new_names = not recovered.was_clean
        self._was_clean = recovered.was_clean
        self._cuts = 0
        self._is_truncating = False
        """From `Log.begin_truncation` to `Log.end_truncation`."""
        self._abandoned = False
        self._jitter = jitter
        self._jitter_ms = jitter(config.segment_jitter_ms)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.directory}, [{self.start_offset}, {self.end_offset}))"

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    @property
    def size(self) -> int:
        return self._segments.size

    @property
    def is_abandoned(self) -> bool:
        """Its files are not this log's any more: it was deleted, or its directory failed or was closed."""
        return self._abandoned

    @property
    def cuts(self) -> int:
        """How often the log was cut: what was seen of its segments before that may not hold any more."""
        return self._cuts

    @property
    def starts_inside(self) -> bool:
        """Records were deleted up to somewhere inside the first segment, which only a checkpoint remembers."""
        return self.start_offset > self._segments.first_base

    def configure(self, config: TopicConfig) -> None:
        """The config that counts from now on."""
        if self._released_config is None:
            self.config = config
        else:
            self._released_config, self.config = config, replace(config, flush_messages=1)

    @property
    def is_held(self) -> bool:
        return self._released_config is not None

    def hold(self) -> None:
        """Until `release`, whoever appends waits for a sync, which `Flusher.hold` keeps back."""
        assert not self.is_held
        self._released_config = self.config
        self.configure(self.config)

    def release(self) -> None:
        config, self._released_config = self._released_config, None
        if config is not None:
            self.config = config

    # --- reading

    @handles_io_errors
    def read(
        self,
        offset: Offset,
        bytes_max: int,
        until: Offset | None = None,
        *,
        one_batch: bool = True,
        cached: bool = False,
    ) -> Slice | None:
        """Batches from the one that holds `offset` on: up to `bytes_max`, and none at or past `until`.

        The first batch is always whole, and with `one_batch` it comes however large it is. None where there is nothing
        to read. The slice is to be read before the log changes, or its handle pinned. With `cached` it raises NotCached
        where it, or one who sends the slice, would wait for the disk.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset)
        if offset == self.end_offset:
            return None
        end = None if until is None or until >= self.end_offset else until
        return self._segments.read(offset, bytes_max, end, one_batch=one_batch, cached=cached)

    @handles_io_errors
    def read_stored(self, offset: Offset, bytes_max: int) -> Slice | None:
        """As `read`, also of records that were deleted and whose segment is still there."""
        return self._segments.read(offset, bytes_max, None, one_batch=True, cached=False)

    def records(self, offset: Offset, until: Offset | None = None) -> Iterator[tuple[BatchHead, Record]]:
        """Every record from `offset` on, one by one, checked: for tools and tests, not for the hot path."""
        return self._segments.records(offset, self.end_offset if until is None else until)

    @handles_io_errors
    def find_time(self, timestamp: TimestampMs) -> FoundTime | None:
        """The first record at or after `timestamp`."""
        return self._segments.find_time(timestamp, self.start_offset)

    @handles_io_errors
    def find_max_time(self) -> FoundTime | None:
        """The first record with the largest timestamp."""
        return self._segments.find_max_time()

    @handles_io_errors
    def aborted_txns(self, start: Offset, end: Offset) -> list[AbortedTxn]:
        """Aborted transactions with records in [start, end), for a reader of committed records."""
        return self._segments.aborted(start, end)

    @handles_io_errors
    def aborted_in(self, part: Slice, start: Offset) -> list[AbortedTxn]:
        """Aborted transactions that a reader of committed records has to know of, for what was read from `start` on."""
        return self._segments.aborted_in(part, start, self.end_offset)

    # --- segments

    def _make_writable(self) -> Segment:
        if self._is_truncating:
            raise RuntimeError(f"{self.partition} takes no appends before its truncation has ended")
        segment = self._segments.active
        segment.make_writable()
        self._writable = segment
        return segment

    def _roll_due(self, segment: Segment, size: int, last: Offset, max_timestamp: TimestampMs) -> bool:
        config = self.config
        if size > config.segment_bytes:
            raise BatchTooLarge(
                f"message batch of {size} bytes is larger than the configured segment size on the server: "
                f"segment.bytes of {self.partition} is {config.segment_bytes}"
            )
        if segment.size == 0:
            return last - segment.base_offset > RELATIVE_OFFSET_MAX
        return (
            segment.size + size > config.segment_bytes
            or segment.waited_ms(self.log_dir.clock, max_timestamp) > config.segment_ms_max - self._jitter_ms
            or segment.index_full(config.segment_index_bytes)
            or last - segment.base_offset > RELATIVE_OFFSET_MAX
        )

    def _create_segment(self, base: Offset) -> Segment:
        segment = Segment(self.log_dir.open_files, self.directory, base, Sizes(), self.log_dir.clock.now_ms())
        try:
            segment.create(self.config.segment_bytes if self.config.preallocate else 0)
        except OSError:
            segment.abandon()
            raise
        self._new_names = True
        return segment

    def _remove_files(self, segment: Segment, delay_ms: int) -> None:
        files = self.log_dir.files
        for suffix in names.SEGMENT_SUFFIXES:
            path = segment.path(suffix)
            if not files.exists(path):
                continue
            if delay_ms == 0:
                files.remove(path)
            else:
                files.rename(path, path + names.DELETED)  # crash from here on: recovery removes *.deleted
                self.log_dir.delete_later(path + names.DELETED, delay_ms)

    def _rename_deleted(self, segment: Segment) -> list[str]:
        """Mark the files of a segment for somebody else to remove; returns their paths."""
        files = self.log_dir.files
        paths = [path for suffix in names.SEGMENT_SUFFIXES if files.exists(path := segment.path(suffix))]
        for path in paths:
            files.rename(path, path + names.DELETED)  # crash from here on: recovery removes *.deleted
        return [path + names.DELETED for path in paths]

    def _rename_files(self, base: Offset, before: str, after: str) -> None:
        """Give the files of a segment another mark at the end of their names."""
        files = self.log_dir.files
        for suffix in names.SEGMENT_SUFFIXES:
            path = f"{self.directory}/{names.file_name(base, suffix)}"
            if files.exists(path + before):
                files.rename(path + before, path + after)

    # --- syncing

    @property
    def unflushed_records(self) -> int:
        return self.end_offset - self.recovery_point

    def flush_due(self, now: TimestampMs) -> bool:
        """flush.ms is over, or a segment was closed that is not synced yet."""
        if self.log_dir.offline_reason is not None or not self.unflushed_records:
            return False
        return (
            now - self.last_flush_ms >= self.config.flush_ms or self._segments.active.base_offset > self.recovery_point
        )

    @handles_io_errors
    def begin_sync(self, *, closing: bool = False) -> SyncJob:
        """The files that hold what lies past the recovery point, pinned; hand them back with `end_sync`."""
        handles: list[Handle] = []
        try:
            # A segment that ends at the recovery point may have been closed since, and its index been written again.
            for segment in self._segments.since(Offset(self.recovery_point - 1)):
                handles += segment.handles_to_sync(closed=closing or segment is not self._segments.active)
        except OSError as error:
            for handle in handles:
                handle.unpin()
            raise self._failed(error) from error
        job = SyncJob(handles, self.end_offset, self._new_names, self._cuts, self.directory, self.log_dir)
        self._new_names = False
        return job

    def run_sync(self, job: SyncJob) -> None:
        """Blocks; may run in another thread."""
        for handle in job.handles:
            if handle.file is not None:
                handle.file.sync()
        if job.new_names:
            files = job.log_dir.files
            for entry in files.list(job.directory):
                if entry.name in _SMALL_FILES or entry.name.endswith(names.SNAPSHOT):
                    sync_file(files, f"{job.directory}/{entry.name}")
            files.sync_dir(job.directory)
            files.sync_dir(job.log_dir.path)  # the directory itself may be new

    def end_sync(self, job: SyncJob, error: OSError | None = None) -> None:
        for handle in job.handles:
            handle.unpin()
        if self._abandoned:
            return  # its files may be gone by now
        if job.log_dir is self.log_dir:  # else all of it was synced in another log directory
            if error is not None:
                # What the kernel could not write may be gone from the page cache: no second sync can be believed.
                raise self._failed(error) from error
            self.last_flush_ms = self.log_dir.clock.now_ms()
            if job.cuts == self._cuts:  # else some of what lies below job.through now was written later
                self.recovery_point = max(self.recovery_point, job.through)

    def is_reached_by(self, job: SyncJob) -> bool:
        """Whether nothing has come into the log since the sync began."""
        return job.through == self.end_offset and job.cuts == self._cuts and not self._new_names

    @property
    def durable_end(self) -> Offset:
        """As far as records count for this replica: to the end, unless flush.messages asks for a sync of the last."""
        end = self.end_offset
        return end if end - self.recovery_point < self.config.flush_messages else self.recovery_point

    def sync(self, *, closing: bool = False) -> None:
        """All of it at once, for a start or a stop."""
        job = self.begin_sync(closing=closing)
        failure = None
        try:
            self.run_sync(job)
        except OSError as error:
            failure = error
        self.end_sync(job, failure)

    def was_synced(self) -> None:
        """All of the log's files were synced since the last write."""
        self.recovery_point = self.end_offset
        self._new_names = False

    def mark_new(self) -> None:
        """The directory was just made: its names are to be synced with the first records."""
        self._new_names = True

    @property
    def needs_sync(self) -> bool:
        # After a crash the index of the active segment was made anew, and no sync but the last one reaches it.
        return self._writable is not None or self.unflushed_records > 0 or self._new_names or not self._was_clean

    # --- the end

    def move_to(self, directory: str) -> None:
        for segment in self._segments:
            segment.release()
        self.log_dir.files.rename(self.directory, directory)
        self.directory = directory
        for segment in self._segments:
            segment.move_to(directory)

    def exchange(self: L, other: L) -> None:
        """Two logs that hold the same records, each in its directory: from now on each has the files of the other.

        Who knows one of them goes on with it and notices nothing.
        """
        for slot in _FILES:
            mine, its = getattr(self, slot), getattr(other, slot)
            setattr(self, slot, its)
            setattr(other, slot, mine)
        self._cuts += 1
        other._cuts += 1

    def abandon(self) -> None:
        """Let go of every file without writing: the directory failed, or is being deleted. It is of no use then."""
        self._abandoned = True
        for segment in self._segments:
            segment.abandon()

    def _failed(self, error: OSError) -> StorageFailed:
        """An error of the disk, unless it comes from using a log that is gone: that is no reason to stop the others."""
        if self._abandoned:
            return StorageFailed(f"{self.partition} is not in {self.log_dir.path} any more")
        return self.log_dir.take_offline(error)
