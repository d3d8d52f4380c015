"""The log of one partition: append, read, find, truncate, delete. One thread owns it; nothing here awaits.

Offsets, low to high:   start <= last stable <= high watermark <= end,   and recovery point <= end

What the log holds in memory is what its files say, at every moment between two calls: a batch counts once its write
went through. An OSError from a file fails the whole log directory, as a disk that failed once is not to be trusted
with the next write.
"""

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from odradek.model.errors import (
    BatchTooLarge,
    InvalidRecord,
    MessageTooLarge,
    OffsetOutOfRange,
    OutOfPlace,
    StorageFailed,
)
from odradek.model.numbers import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import BatchHead, check_crc, check_produced, parse_head, stamp
from odradek.records.control import EndTxnMarker, end_txn_marker
from odradek.records.record import Record
from odradek.storage import leader_epochs, names, retention
from odradek.storage.files import sync_file
from odradek.storage.home import Home
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.open_files import Handle
from odradek.storage.recovery import Recovered
from odradek.storage.segment import RELATIVE_OFFSET_MAX, Segment, Sizes, Slice
from odradek.storage.segments import FoundTime, Segments
from odradek.storage.transaction_index import AbortedTxn

if TYPE_CHECKING:
    from odradek.storage.producer_state import ProducerState

Jitter = Callable[[int], int]
"""Given segment.jitter.ms, how much earlier than segment.ms the next segment is rolled."""


_SMALL_FILES = frozenset((names.LEADER_EPOCHS, names.PARTITION_METADATA))


class Origin(Enum):
    """Who made a batch that a leader appends."""

    CLIENT = "client"
    """Sequences are checked."""
    COORDINATOR = "coordinator"
    """Control batches are allowed; sequences are not checked."""


class Appended(NamedTuple):
    base_offset: Offset
    last_offset: Offset
    duplicate: bool = False
    """The batch was in the log already; the offsets are those that it has there."""
    timestamp: TimestampMs = NO_TIMESTAMP
    """For a duplicate: the largest of the batch in the log."""


class SyncJob(NamedTuple):
    """Files to sync, away from the thread that owns the log, and what is safe once that is done."""

    handles: list[Handle]
    through: Offset
    new_names: bool
    """Files were made, removed or replaced since the last sync: names and small files must be synced too."""
    cuts: int
    """How often the log had been cut when this began."""


def no_jitter(_jitter_ms: int) -> int:
    return 0


P = ParamSpec("P")
T = TypeVar("T")


def _guarded(method: Callable[Concatenate["Log", P], T]) -> Callable[Concatenate["Log", P], T]:
    """The log directory must be in service; an OSError takes it out of service."""

    @wraps(method)
    def call(self: "Log", /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.home.check()
        try:
            return method(self, *args, **kwargs)
        except OSError as error:
            raise self._failed(error) from error

    return call


class Log:
    __slots__ = (
        "_abandoned",
        "_cuts",
        "_jitter",
        "_jitter_ms",
        "_new_names",
        "_segments",
        "_snapshots",
        "_unreplicated_txns",
        "_was_clean",
        "_writable",
        "config",
        "directory",
        "end_offset",
        "epochs",
        "high_watermark",
        "home",
        "last_flush_ms",
        "partition",
        "producers",
        "recovery_point",
        "start_offset",
        "topic_id",
    )

    def __init__(
        self,
        home: Home,
        directory: str,
        partition: TopicPartition,
        config: TopicConfig,
        recovered: Recovered,
        jitter: Jitter = no_jitter,
    ) -> None:
        self.home = home
        self.directory = directory
        self.partition = partition
        self.topic_id: str | None = None
        self.config = config
        self.start_offset = recovered.log_start
        self.end_offset = recovered.end_offset
        self.high_watermark = recovered.end_offset
        self.recovery_point = recovered.recovery_point
        self.last_flush_ms = home.clock.now_ms()
        self.epochs: LeaderEpochs = recovered.epochs
        self.producers: ProducerState = recovered.producers
        self._segments = Segments(recovered.segments)
        self._snapshots = recovered.snapshots
        self._writable: Segment | None = None
        self._new_names = not recovered.was_clean
        self._was_clean = recovered.was_clean
        self._cuts = 0
        self._abandoned = False
        self._jitter = jitter
        self._jitter_ms = jitter(config.segment_jitter_ms)
        self._unreplicated_txns: deque[tuple[Offset, Offset]] | None = None

    def __repr__(self) -> str:
        return f"Log({self.directory}, [{self.start_offset}, {self.end_offset}))"

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    @property
    def size(self) -> int:
        return self._segments.size

    @property
    def starts_inside(self) -> bool:
        """Records were deleted up to somewhere inside the first segment, which only a checkpoint remembers."""
        return self.start_offset > self._segments.first_base

    # --- appending

    def append(self, batch: memoryview, epoch: LeaderEpoch, origin: Origin = Origin.CLIENT) -> Appended:
        """As the leader: check a batch, give it the next offsets, write it. `batch` is stamped in place."""
        head = parse_head(batch)
        check_crc(batch, head)
        if origin is Origin.CLIENT:
            check_produced(head)
        return self.append_checked(batch, head, epoch, origin)

    def append_checked(
        self, batch: memoryview, head: BatchHead, epoch: LeaderEpoch, origin: Origin = Origin.CLIENT, level: int = 0
    ) -> Appended:
        """As `append`, for a batch whose bytes are known to be right: only its place in this log is still checked.

        Markers are judged by `level`, which is that of transaction.version.
        """
        if self.home.failure is not None:
            self.home.check()
        if len(batch) > self.config.max_message_bytes:
            raise MessageTooLarge(f"{len(batch)} bytes; {self.partition} takes {self.config.max_message_bytes}")
        if head.producer_id >= 0:
            if origin is Origin.CLIENT:
                known = self.producers.admit(head)
                if known is not None:
                    return Appended(known.first_offset, known.last_offset, True, known.timestamp)
            else:
                self._check_coordinators(batch, head, level)
        base = self.end_offset
        stamp(batch, base, epoch)
        self._write(batch, head, base, epoch)
        return Appended(base, Offset(base + head.last_offset_delta))

    def _check_coordinators(self, batch: memoryview, head: BatchHead, level: int) -> None:
        if head.is_control:
            self.producers.check_marker(head, self._marker(batch, head), level)
        else:
            self.producers.check_epoch(head)

    @_guarded
    def replicate(self, data: memoryview) -> Offset:
        """As a follower: take batches as the leader wrote them, whole or not at all each; returns the new end."""
        at = 0
        while at < len(data):
            head = parse_head(data, at)
            batch = data[at : at + head.size]
            check_crc(batch, head)
            if head.base_offset < self.end_offset:
                raise OutOfPlace(f"{self.partition} ends at {self.end_offset}, the leader sent {head.base_offset}")
            self._write(batch, head, head.base_offset, head.leader_epoch)
            at += head.size
        return self.end_offset

    def _write(self, batch: memoryview, head: BatchHead, base: Offset, epoch: LeaderEpoch) -> None:
        last = Offset(base + head.last_offset_delta)
        try:
            segment = self._writable or self._make_writable()
            if self._roll_due(segment, len(batch), last, head.max_timestamp):
                segment = self._roll(base)
            segment.append(batch, last, head.max_timestamp, self.config.index_interval_bytes)
            self.end_offset = Offset(last + 1)
            if epoch > self.epochs.latest:
                self.assign_epoch(epoch, base)
            if head.producer_id >= 0:
                self._note_producer(segment, batch, head, base)
        except OSError as error:
            raise self._failed(error) from error

    def _note_producer(self, segment: Segment, batch: memoryview, head: BatchHead, base: Offset) -> None:
        if not head.is_control:
            self.producers.note(head, base)
            return
        marker = end_txn_marker(batch, head)
        completed = self.producers.note_marker(head, base, marker) if marker else None
        if completed is None:
            return
        if completed.aborted:
            segment.txn_index.append(completed.txn)
        if self._unreplicated_txns is None:
            self._unreplicated_txns = deque()
        self._unreplicated_txns.append((completed.txn.first_offset, completed.txn.last_offset))

    def _marker(self, batch: memoryview, head: BatchHead) -> EndTxnMarker:
        marker = end_txn_marker(batch, head)
        if marker is None:
            raise InvalidRecord(f"a control batch of producer {head.producer_id} without a marker")
        return marker

    def assign_epoch(self, epoch: LeaderEpoch, start: Offset) -> None:
        """A leader with `epoch` begins to write at `start`."""
        changed = self.epochs.assign(epoch, start)
        if changed is not self.epochs:
            self._store_epochs(changed)

    def _store_epochs(self, changed: LeaderEpochs) -> None:
        if changed is not self.epochs:
            leader_epochs.write(self.home.open_files.files, self.directory, changed)
            self.epochs = changed
            self._new_names = True

    # --- segments

    def _make_writable(self) -> Segment:
        segment = self._segments.active
        segment.make_writable()
        self._writable = segment
        return segment

    def _roll_due(self, segment: Segment, size: int, last: Offset, max_timestamp: TimestampMs) -> bool:
        config = self.config
        if size > config.segment_bytes:
            raise BatchTooLarge(f"a batch of {size} bytes; a segment of {self.partition} takes {config.segment_bytes}")
        if segment.size == 0:
            return last - segment.base_offset > RELATIVE_OFFSET_MAX
        return (
            segment.size + size > config.segment_bytes
            or segment.waited_ms(self.home.clock, max_timestamp) > config.segment_ms_max - self._jitter_ms
            or segment.index_full(config.segment_index_bytes)
            or last - segment.base_offset > RELATIVE_OFFSET_MAX
        )

    @_guarded
    def roll(self) -> None:
        """Close the active segment, unless it is empty, and go on in a new one."""
        if self._segments.active.size:
            self._roll(self.end_offset)

    def _roll(self, base: Offset) -> Segment:
        (self._writable or self._make_writable()).become_inactive()
        self._take_snapshot(base)
        last = self._segments.active
        segment = self._create_segment(base)
        self._segments.add(segment)
        if last.size == 0:  # only where the next offset lies too far from the base of a segment that is still empty
            self._segments.remove(last)
            self._delete_files(last, delay_ms=0)
        self._writable = segment
        self._jitter_ms = self._jitter(self.config.segment_jitter_ms)
        return segment

    def _create_segment(self, base: Offset) -> Segment:
        segment = Segment(self.home.open_files, self.directory, base, Sizes(), self.home.clock.now_ms())
        try:
            segment.create(self.config.segment_bytes if self.config.preallocate else 0)
        except OSError:
            segment.abandon()
            raise
        self._new_names = True
        return segment

    def _take_snapshot(self, offset: Offset) -> None:
        if offset > self.start_offset:
            self._snapshots.write(self.producers, offset)

    # --- watermarks

    def advance_high_watermark(self, offset: Offset) -> None:
        """Everything below `offset` is replicated as far as it must be. It never falls, but by a truncation."""
        if offset > self.end_offset:
            offset = self.end_offset
        if offset > self.high_watermark:
            self.high_watermark = offset
        decided = self._unreplicated_txns
        while decided and decided[0][1] < self.high_watermark:
            decided.popleft()

    @property
    def last_stable_offset(self) -> Offset:
        """Below it every transaction is decided, and the decision replicated."""
        stable = self.high_watermark
        undecided = self.producers.first_undecided_offset
        if undecided is not None and undecided < stable:
            stable = undecided
        for first, _ in self._unreplicated_txns or ():
            stable = min(stable, first)
        return max(stable, self.start_offset)  # the transaction may have begun in what is deleted

    # --- reading

    @_guarded
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

    def records(self, offset: Offset, until: Offset | None = None) -> Iterator[tuple[BatchHead, Record]]:
        """Every record from `offset` on, one by one, checked: for tools and tests, not for the hot path."""
        return self._segments.records(offset, self.end_offset if until is None else until)

    @_guarded
    def find_time(self, timestamp: TimestampMs) -> FoundTime | None:
        """The first record at or after `timestamp`."""
        return self._segments.find_time(timestamp, self.start_offset)

    @_guarded
    def find_max_time(self) -> FoundTime | None:
        """The first record with the largest timestamp."""
        return self._segments.find_max_time()

    @_guarded
    def aborted_txns(self, start: Offset, end: Offset) -> list[AbortedTxn]:
        """Aborted transactions with records in [start, end), for a reader of committed records."""
        return self._segments.aborted(start, end)

    @_guarded
    def aborted_in(self, part: Slice, start: Offset) -> list[AbortedTxn]:
        """Aborted transactions that a reader of committed records has to know of, for what was read from `start` on."""
        return self._segments.aborted_in(part, start, self.end_offset)

    # --- cutting

    @_guarded
    def truncate_to(self, offset: Offset) -> None:
        """Drop everything at or past `offset`; a batch that reaches it goes whole."""
        if offset >= self.end_offset:
            return
        if offset < self._segments.first_base:
            self._start_anew(offset)
            return
        gone = self._segments.take_above(offset)
        for segment in reversed(gone):  # last to first: a crash must not leave a gap
            self._delete_files(segment, delay_ms=0)
        if gone:
            self.home.open_files.files.sync_dir(self.directory)  # nor must power loss
        self._writable = self._segments.active
        self.end_offset = self._writable.truncate_to(offset, self.home.clock.now_ms())
        self._store_epochs(self.epochs.truncate_to(self.end_offset))
        self.start_offset = min(self.start_offset, self.end_offset)
        self._after_cut()

    @_guarded
    def start_anew(self, offset: Offset) -> None:
        """Drop everything and go on at `offset`."""
        self._start_anew(offset)

    def _start_anew(self, offset: Offset) -> None:
        for segment in reversed(self._segments.as_list()):
            self._delete_files(segment, delay_ms=0)
        self._writable = self._create_segment(offset)
        self.home.open_files.files.sync_dir(self.directory)
        self._segments = Segments([self._writable])
        self.start_offset = self.end_offset = offset
        self._store_epochs(LeaderEpochs())
        self._after_cut()

    def _after_cut(self) -> None:
        """Bring what is derived from the log in line with its new end."""
        self._cuts += 1
        self._new_names = True
        self.high_watermark = min(self.high_watermark, self.end_offset)
        self.recovery_point = min(self.recovery_point, self.end_offset)
        if self._unreplicated_txns:
            self._unreplicated_txns = deque(txn for txn in self._unreplicated_txns if txn[1] < self.end_offset)
        self._snapshots.keep_within(self.start_offset, self.end_offset)
        self.producers = self._snapshots.state_at(self.end_offset, self._segments, self.start_offset)
        # A recovery point or log start from before, above what is true now, would be believed after a crash.
        self.home.store_checkpoints()

    @_guarded
    def advance_start(self, offset: Offset) -> bool:
        """Records below `offset` are deleted; their segments go at the next retention."""
        if not self.start_offset <= offset <= self.high_watermark:
            if offset < self.start_offset:
                return False
            raise OffsetOutOfRange(offset, self.start_offset, self.high_watermark)
        if offset == self.start_offset:
            return False
        self.start_offset = offset
        self._store_epochs(self.epochs.start_at(offset))
        return True

    @_guarded
    def apply_retention(self, now: TimestampMs) -> tuple[int, retention.Reason | None]:
        """Delete the segments that the config no longer keeps; returns how many, and why the last one went."""
        view = retention.View(self.config, self._segments.as_list(), now)
        view.start, view.end, view.high_watermark = self.start_offset, self.end_offset, self.high_watermark
        count, reason = retention.deletable(view)
        if count:
            self._delete_first(count)
        return count, reason

    def _delete_first(self, count: int) -> None:
        if count == len(self._segments):
            self._roll(self.end_offset)
        # Crash before the files are renamed: the log starts where it started, and the next retention does it again.
        gone = self._segments.take_first(count)
        if self.start_offset < self._segments.first_base:
            self.start_offset = self._segments.first_base
            self._store_epochs(self.epochs.start_at(self.start_offset))
        for segment in gone:
            self._delete_files(segment, self.config.file_delete_delay_ms)

    def _delete_files(self, segment: Segment, delay_ms: int) -> None:
        """Take a segment's files out of the log; those who read them may go on for `delay_ms`."""
        files = self.home.open_files.files
        segment.abandon()
        if segment.base_offset in self._snapshots.offsets:
            self._snapshots.remove(segment.base_offset)
        for suffix in names.SEGMENT_SUFFIXES:
            path = segment.path(suffix)
            if not files.exists(path):
                continue
            if delay_ms == 0:
                files.remove(path)
            else:
                files.rename(path, path + names.DELETED)  # crash from here on: recovery removes *.deleted
                self.home.doom(path + names.DELETED, delay_ms)

    # --- syncing

    @property
    def unflushed_records(self) -> int:
        return self.end_offset - self.recovery_point

    def flush_due(self, now: TimestampMs) -> bool:
        """flush.ms is over, or a segment was closed that is not synced yet."""
        if self.home.failure is not None or not self.unflushed_records:
            return False
        return (
            now - self.last_flush_ms >= self.config.flush_ms or self._segments.active.base_offset > self.recovery_point
        )

    @_guarded
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
        job = SyncJob(handles, self.end_offset, self._new_names, self._cuts)
        self._new_names = False
        return job

    def run_sync(self, job: SyncJob) -> None:
        """Blocks; may run in another thread."""
        for handle in job.handles:
            if handle.file is not None:
                handle.file.sync()
        if job.new_names:
            files = self.home.open_files.files
            for entry in files.list(self.directory):
                if entry.name in _SMALL_FILES or entry.name.endswith(names.SNAPSHOT):
                    sync_file(files, f"{self.directory}/{entry.name}")
            files.sync_dir(self.directory)
            files.sync_dir(self.home.path)  # the directory itself may be new

    def end_sync(self, job: SyncJob, error: OSError | None = None) -> None:
        for handle in job.handles:
            handle.unpin()
        if self._abandoned:
            return  # its files may be gone by now
        if error is not None:
            # What the kernel could not write may be gone from the page cache: no second sync can be believed.
            raise self._failed(error) from error
        self.last_flush_ms = self.home.clock.now_ms()
        if job.cuts == self._cuts:  # else some of what lies below job.through now was written later
            self.recovery_point = max(self.recovery_point, job.through)

    def sync(self, *, closing: bool = False) -> None:
        """All of it at once, for a start or a stop."""
        job = self.begin_sync(closing=closing)
        failure = None
        try:
            self.run_sync(job)
        except OSError as error:
            failure = error
        self.end_sync(job, failure)

    # --- the end

    @property
    def needs_sync(self) -> bool:
        # After a crash the index of the active segment was made anew, and no sync but the last one reaches it.
        return self._writable is not None or self.unflushed_records > 0 or self._new_names or not self._was_clean

    @_guarded
    def close(self, *, sync: bool = True) -> None:
        """Leave the directory as a clean stop does: synced, indexes trimmed, producers in a snapshot.

        Without `sync` that is left to the owner, who tells when it is done with `was_synced`.
        """
        if self._writable is not None:
            self._writable.become_inactive()
        self._take_snapshot(self.end_offset)
        if sync and self.needs_sync:
            self._new_names = True  # the snapshot is one
            self.sync(closing=True)
        for segment in self._segments:
            segment.close()

    def was_synced(self) -> None:
        """All of the log's files were synced since the last write."""
        self.recovery_point = self.end_offset
        self._new_names = False

    def mark_new(self) -> None:
        """The directory was just made: its names are to be synced with the first records."""
        self._new_names = True

    def move_to(self, directory: str) -> None:
        """Rename the log's directory. Readers that pinned a file keep it."""
        for segment in self._segments:
            segment.release()
        self.home.open_files.files.rename(self.directory, directory)
        self.directory = self._snapshots.directory = directory
        for segment in self._segments:
            segment.move_to(directory)

    def abandon(self) -> None:
        """Let go of every file without writing: the directory failed, or is being deleted. It is of no use then."""
        self._abandoned = True
        for segment in self._segments:
            segment.abandon()

    def _failed(self, error: OSError) -> StorageFailed:
        """An error of the disk, unless it comes from using a log that is gone: that is no reason to stop the others."""
        if self._abandoned:
            return StorageFailed(f"{self.partition} is not in {self.home.path} any more")
        return self.home.fail(error)
