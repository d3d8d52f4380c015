"""The log of one partition: append, read, find, truncate, delete. One thread owns it; nothing here awaits.

Offsets, low to high:   start <= last stable <= high watermark <= end,   and recovery point <= end

What the log holds in memory is what its files say, at every moment between two calls: a batch counts once its write
went through. An OSError from a file fails the whole log directory, as a disk that failed once is not to be trusted
with the next write.
"""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from odradek.model.errors import InvalidRecord, MessageTooLarge, OffsetOutOfRange, OutOfPlace
from odradek.model.numbers import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import BatchHead, check_crc, parse_head, stamp
from odradek.records.control import EndTxnMarker, end_txn_marker
from odradek.storage import batches, leader_epochs, names, retention
from odradek.storage.cleaning.job import Made
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.local_log import Jitter, LocalLog, handles_io_errors, no_jitter
from odradek.storage.log_dir import LogDir
from odradek.storage.recovery import Recovered
from odradek.storage.segment import Segment, Sizes
from odradek.storage.segments import Segments
from odradek.storage.truncation import Truncation, truncate_now

if TYPE_CHECKING:
    from odradek.storage.producer_state import ProducerState


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


class CopiedSegment(NamedTuple):
    """A segment whose files were copied from another log, under `.cleaned` names."""

    base: Offset
    sizes: Sizes
    has_snapshot: bool
    """Whether the snapshot of the producers at its base was copied too."""


class Log(LocalLog):
    __slots__ = (
        "_snapshots",
        "_unreplicated_txns",
        "arriving_bytes",
        "cleaned_to",
        "epochs",
        "high_watermark",
        "producers",
        "topic_id",
    )

    def __init__(
        self,
        log_dir: LogDir,
        directory: str,
        partition: TopicPartition,
        config: TopicConfig,
        recovered: Recovered,
        jitter: Jitter = no_jitter,
    ) -> None:
        super().__init__(log_dir, directory, partition, config, recovered, jitter)
        self.topic_id: str | None = None
        self.high_watermark = recovered.log_start
        """Until a checkpoint or a leader says more."""
        self.cleaned_to: Offset | None = None
        """Below it the log was compacted; None where it never was."""
        self.epochs: LeaderEpochs = recovered.epochs
        self.producers: ProducerState = recovered.producers
        self.arriving_bytes = 0
        """Of a segment that is being copied into this log, and is no part of it yet."""
        self._snapshots = recovered.snapshots
        self._unreplicated_txns: deque[tuple[Offset, Offset]] | None = None

    # --- appending

    def append_checked(
        self, batch: memoryview, head: BatchHead, epoch: LeaderEpoch, origin: Origin = Origin.CLIENT, level: int = 0
    ) -> Appended:
        """As the leader: give a batch the next offsets, and write it. It is stamped in place.

        Its bytes are known to be right (`broker.log_validator` has seen to it): only its place in this log is checked.
        Markers are judged by `level`, which is that of transaction.version.
        """
        if self.log_dir.offline_reason is not None:
            self.log_dir.check_online()
        if len(batch) > self.config.max_message_bytes:
            self.refuse_size(head)
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

    def refuse_size(self, head: BatchHead) -> NoReturn:
        """Of a batch that is larger than max.message.bytes."""
        self.producers.put_off(head)
        raise MessageTooLarge(
            f"a message batch of {head.size} bytes is larger than the max message size the server will accept: "
            f"max.message.bytes of {self.partition} is {self.config.max_message_bytes}"
        )

    def _check_coordinators(self, batch: memoryview, head: BatchHead, level: int) -> None:
        if head.is_control:
            self.producers.check_marker(head, self._marker(batch, head), level)
        else:
            self.producers.check_epoch(head)

    @handles_io_errors
    def replicate(self, data: memoryview) -> Offset:
        """As a follower: take batches as the leader wrote them; returns the new end.

        A last batch that is cut is ignored: leaders send as many bytes as were asked for.
        """
        data = batches.whole(data)
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

    @handles_io_errors
    def assign_epoch(self, epoch: LeaderEpoch, start: Offset) -> None:
        """A leader with `epoch` begins to write at `start`."""
        changed = self.epochs.assign(epoch, start)
        if changed is not self.epochs:
            self._store_epochs(changed)

    def _store_epochs(self, changed: LeaderEpochs) -> None:
        if changed is not self.epochs:
            leader_epochs.write(self.log_dir.files, self.directory, changed)
            self.epochs = changed
            self._new_names = True

    # --- segments

    @handles_io_errors
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

    # --- cutting

    @handles_io_errors
    def begin_truncation(self, offset: Offset) -> Truncation | None:
        """Drop everything at or past `offset`; a batch that reaches it goes whole. None where there is nothing to drop.

        Readers see it at once. Nothing may be appended before `end_truncation`. See `odradek.storage.truncation`.
        """
        if offset >= self.end_offset:
            return None
        if offset < self._segments.first_base:
            return self._start_anew(offset)
        deleted = self._drop(self._segments.take_above(offset))
        active = self._segments.active
        self.end_offset = active.shorten(offset)
        self._store_epochs(self.epochs.truncate_to(self.end_offset))
        self.start_offset = min(self.start_offset, self.end_offset)
        return self._cut(deleted)

    @handles_io_errors
    def begin_start_anew(self, offset: Offset) -> Truncation:
        """As `begin_truncation`: drop everything and go on at `offset`."""
        return self._start_anew(offset)

    def _start_anew(self, offset: Offset) -> Truncation:
        deleted = self._drop(self._segments.as_list())
        self._segments = Segments([self._create_segment(offset)])
        self.start_offset = self.end_offset = offset
        self._store_epochs(LeaderEpochs())
        return self._cut(deleted)

    def _drop(self, segments: Sequence[Segment]) -> list[str]:
        """Take the last segments out of the log, the last one first: a crash must not leave a gap."""
        deleted: list[str] = []
        for segment in reversed(segments):
            segment.abandon()
            if segment.base_offset in self._snapshots.offsets:
                self._snapshots.remove(segment.base_offset)
            deleted += self._rename_deleted(segment)
        return deleted

    def _cut(self, deleted: list[str]) -> Truncation:
        """Bring what is derived from the log in line with its new end."""
        self._cuts += 1
        self._is_truncating = True
        self._writable = None
        self._new_names = True
        self.high_watermark = max(min(self.high_watermark, self.end_offset), self.start_offset)
        self.recovery_point = min(self.recovery_point, self.end_offset)
        if self.cleaned_to is not None:
            self.cleaned_to = min(self.cleaned_to, self.end_offset)
        if self._unreplicated_txns:
            self._unreplicated_txns = deque(txn for txn in self._unreplicated_txns if txn[1] < self.end_offset)
        self._snapshots.keep_within(self.start_offset, self.end_offset)
        self.producers = self._snapshots.state_at(self.end_offset, self._segments, self.start_offset)
        active = self._segments.active
        active.log.pin()
        return Truncation(active.log, active.size, self.directory, deleted, self.log_dir)

    def end_truncation(self, job: Truncation, error: OSError | None) -> None:
        """The truncation is safe on disk, or failed with `error`: then it raises StorageFailed."""
        job.active.unpin()
        self._is_truncating = False
        if self._abandoned:
            return
        if error is not None:
            raise self._failed(error) from error
        self.log_dir.check_online()  # the checkpoint may have failed
        self._cut_indexes()

    @handles_io_errors
    def _cut_indexes(self) -> None:
        self._writable = self._segments.active
        self._writable.cut_indexes(self.end_offset, self.log_dir.clock.now_ms())

    def truncate_to(self, offset: Offset) -> None:
        """All of a truncation at once. Blocks: for a start."""
        truncate_now(self, self.begin_truncation(offset))

    def start_anew(self, offset: Offset) -> None:
        """Drop everything and go on at `offset`. Blocks: for a start."""
        truncate_now(self, self.begin_start_anew(offset))

    @handles_io_errors
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

    @handles_io_errors
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
        segment.abandon()
        if segment.base_offset in self._snapshots.offsets:
            self._snapshots.remove(segment.base_offset)
        self._remove_files(segment, delay_ms)

    # --- compaction

    @handles_io_errors
    def replace_segments(self, old: Sequence[Segment], made: Sequence[Made]) -> None:
        """Segments whose files lie in the directory under `.cleaned` names, synced, take the place of `old`.

        Those are closed ones of this log, side by side, from which `made` were made. Readers may go on with them for
        file.delete.delay.ms.
        """
        for each in reversed(made):  # last to first, so that recovery can tell whether all of them were renamed
            self._rename_files(each.base, names.CLEANED, names.SWAP)
        # Crash before here: recovery removes what was made. From here on, it finishes what is done below.
        bases = {each.base for each in made}
        for segment in old:
            segment.abandon()
            if segment.base_offset not in bases and segment.base_offset in self._snapshots.offsets:
                self._snapshots.remove(segment.base_offset)
            self._remove_files(segment, self.config.file_delete_delay_ms)
        for each in made:
            self._rename_files(each.base, names.SWAP, "")
        now = self.log_dir.clock.now_ms()
        new = [Segment(self.log_dir.open_files, self.directory, each.base, each.sizes, now) for each in made]
        self._segments.replace(old, new)
        self._new_names = True

    # --- moving to another directory

    @handles_io_errors
    def adopt(self, copied: CopiedSegment, epochs: LeaderEpochs) -> None:
        """A copy of another log's next closed segment becomes the last one of this.

        Its files lie in the directory under `.cleaned` names, synced. `epochs` are those of the other log.
        """
        last = self._segments.active
        # The first one of a log says where it begins: compaction may have left nothing in those before the copied one.
        is_beginning = last.base_offset < copied.base and len(self._segments) == 1
        is_replaced = last.size == 0 and not is_beginning
        if is_replaced:
            last.abandon()
            if last.base_offset != copied.base:
                self._remove_files(last, delay_ms=0)
        elif last.size == 0:
            (self._writable or self._make_writable()).become_inactive()
        # Crash in the middle: recovery removes what has its `.cleaned` name still, and makes indexes that are lost.
        self._rename_files(copied.base, names.CLEANED, "")
        segment = Segment(
            self.log_dir.open_files, self.directory, copied.base, copied.sizes, self.log_dir.clock.now_ms()
        )
        self._segments.add(segment)
        self.arriving_bytes = 0
        if is_replaced:
            self._segments.remove(last)
        self._writable = None
        self._new_names = True
        was_synced = self.recovery_point == self.end_offset
        self.end_offset = max(segment.read_next_offset(), copied.base)
        if was_synced:
            self.recovery_point = self.end_offset
        if copied.has_snapshot:
            self._snapshots.add(copied.base)
        self._store_epochs(epochs.truncate_to(self.end_offset))

    @handles_io_errors
    def load_producers(self, at: Offset, *, has_snapshot: bool) -> None:
        """Where only files came in: what is known of producers at an offset.

        `has_snapshot` says that a snapshot of them at this very offset was put into the directory.
        """
        if has_snapshot:
            self._snapshots.add(at)
        self.producers = self._snapshots.state_at(at, self._segments, self.start_offset)

    @handles_io_errors
    def go_on_at(self, offset: Offset) -> None:
        """The next record is to have this offset or a larger one: those between were compacted away."""
        self._roll(offset)
        self.end_offset = offset

    @handles_io_errors
    def follow(self, other: "Log") -> None:
        """What is known of the other log's records beside themselves holds for these, which are the same."""
        assert self.end_offset == other.end_offset
        self.advance_high_watermark(other.high_watermark)
        self.advance_start(other.start_offset)
        self.cleaned_to = other.cleaned_to
        self._store_epochs(other.epochs)

    # --- the end

    @handles_io_errors
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

    def exchange(self, other: "Log") -> None:
        super().exchange(other)
        self._snapshots, other._snapshots = other._snapshots, self._snapshots

    def move_to(self, directory: str) -> None:
        """Rename the log's directory. Readers that pinned a file keep it."""
        super().move_to(directory)
        self._snapshots.directory = directory
