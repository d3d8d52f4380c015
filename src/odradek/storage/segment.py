"""One segment of a log: a file of batches and the three indexes beside it.

The segment knows its own size; bytes past it in the file do not count (a write that failed half way, or room that was
allocated ahead). Only the last segment of a log is written to.
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from odradek.model.buffer import Buffer
from odradek.model.clock import Clock
from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import NO_TIMESTAMP, FilePos, Offset, TimestampMs
from odradek.process.files import File
from odradek.records.batch import BatchHead
from odradek.storage import batches, names, offset_index, time_index, transaction_index
from odradek.storage.batches import BatchInFile
from odradek.storage.offset_index import OffsetIndex
from odradek.storage.open_files import Handle, OpenFiles
from odradek.storage.time_index import TimeIndex
from odradek.storage.transaction_index import AbortedTxn, TransactionIndex

RELATIVE_OFFSET_MAX = 0x7FFF_FFFF
_LAST_OFFSET = attrgetter("last_offset")
_NOT_LOADED = TimestampMs(-2)
_UNINDEXED_MAX = 64
"""Intervals that may lie past the last index entry. Ours leave one; Kafka's leave one more for each restart."""
_UNINDEXED_LEAST = 4096


class Sizes(NamedTuple):
    """Bytes of a segment's files, as a listing of the directory shows them."""

    log: int = 0
    offset_index: int = 0
    time_index: int = 0
    txn_index: int = 0


class Slice(NamedTuple):
    """A range of a segment's file that starts with a whole batch, to be read or sent; the last batch may be cut."""

    handle: Handle
    position: FilePos
    size: int

    def read(self) -> bytes:
        return self.handle.get().read(self.size, self.position)

    def check_cached(self) -> None:
        """Raise NotCached if one who reads or sends it would wait for the disk."""
        self.handle.get().check_cached(self.size, self.position)


class Segment:
    __slots__ = (
        "_first_timestamp",
        "_max_timestamp",
        "_offset_of_max",
        "_open_files",
        "_txn_index",
        "_txn_index_size",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "index",
        "log",
        "size",
        "time_index",
    )

    def __init__(
        self, open_files: OpenFiles, directory: str, base: Offset, sizes: Sizes, created_ms: TimestampMs
    ) -> None:
        self._open_files = open_files
        self.directory = directory
        self.base_offset = base
        self.created_ms = created_ms
        self.size = sizes.log
        self.log = Handle(open_files, self.path(names.LOG))
        index_handle = Handle(open_files, self.path(names.INDEX))
        self.index = OffsetIndex(index_handle, base, sizes.offset_index // offset_index.ENTRY_SIZE)
        time_handle = Handle(open_files, self.path(names.TIME_INDEX))
        self.time_index = TimeIndex(time_handle, base, sizes.time_index // time_index.ENTRY_SIZE)
        self._txn_index: TransactionIndex | None = None
        self._txn_index_size = sizes.txn_index
        self.bytes_since_index = 0
        self._first_timestamp = _NOT_LOADED
        self._max_timestamp = _NOT_LOADED if sizes.log else NO_TIMESTAMP
        self._offset_of_max = base

    def __repr__(self) -> str:
        return f"Segment({self.path(names.LOG)}, {self.size} bytes)"

    def path(self, suffix: str) -> str:
        return f"{self.directory}/{self.base_offset:020d}{suffix}"

    @property
    def txn_index(self) -> TransactionIndex:
        if self._txn_index is None:
            handle = Handle(self._open_files, self.path(names.TXN_INDEX))
            stored = self._txn_index_size // transaction_index.ENTRY_SIZE
            self._txn_index = TransactionIndex(handle, self.base_offset, stored)
        return self._txn_index

    # --- what it holds

    @property
    def max_timestamp(self) -> TimestampMs:
        if self._max_timestamp == _NOT_LOADED:
            self._max_timestamp, self._offset_of_max = self.time_index.last()
        return self._max_timestamp

    @property
    def largest_timestamp(self) -> TimestampMs:
        """For retention: where no record has a time, that of the last write to the file."""
        largest = self.max_timestamp
        return largest if largest >= 0 else TimestampMs(self.log.get().modified_ms())

    @property
    def first_timestamp(self) -> TimestampMs:
        """The largest of the first batch."""
        if self._first_timestamp == _NOT_LOADED and self.size:
            _, head = next(batches.heads(self.log.get(), self.size))
            self._first_timestamp = head.max_timestamp
        return self._first_timestamp

    def waited_ms(self, clock: Clock, batch_timestamp: TimestampMs) -> int:
        """How long the segment has been written to, by the time of records where they have one."""
        first = self.first_timestamp
        if first >= 0:
            return batch_timestamp - first
        return clock.now_ms() - self.created_ms

    def index_full(self, index_bytes_max: int) -> bool:
        # One entry of the time index is kept free for the one that closes it.
        return (
            self.index.entries.count >= index_bytes_max // offset_index.ENTRY_SIZE
            or self.time_index.entries.count >= index_bytes_max // time_index.ENTRY_SIZE - 1
        )

    # --- writing

    def create(self, allocate: int) -> None:
        """Make the files of a new segment; `allocate` bytes are reserved for its log."""
        for suffix in names.SEGMENT_SUFFIXES:
            if self._open_files.files.exists(self.path(suffix)):
                self._open_files.files.remove(self.path(suffix))  # left over from a crash
        file = self.log.create()
        if allocate:
            file.allocate(allocate)
        for entries in (self.index.entries, self.time_index.entries):
            self._open_files.files.open(entries.path, create=True).close()

    def append(self, data: Buffer, last_offset: Offset, max_timestamp: TimestampMs, index_interval_bytes: int) -> None:
        """Write a batch that is stamped already. Nothing changes here unless the write went through."""
        position = self.size
        (self.log.file or self.log.get()).write(data, position)
        self.size = position + len(data)
        if position == 0:
            self._first_timestamp = max_timestamp
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._offset_of_max = last_offset
        if self.bytes_since_index > index_interval_bytes:
            self.index.append(last_offset, FilePos(position))
            self.time_index.maybe_append(self._max_timestamp, self._offset_of_max)
            self.bytes_since_index = 0
        self.bytes_since_index += len(data)

    def end_time_index(self) -> None:
        """The last entry of a segment that is closed: its largest timestamp."""
        if self.size:
            self.time_index.maybe_append(self.max_timestamp, self._offset_of_max)

    def become_inactive(self) -> None:
        self.end_time_index()
        self.index.entries.spill()
        self.time_index.entries.spill()
        self._trim()

    def close(self) -> None:
        """Write out what is in memory and let go of the files."""
        if self._max_timestamp != _NOT_LOADED:
            self.end_time_index()
            self._trim()
        self.release()

    def release(self) -> None:
        """Write out what waits in memory and let go of the files; the segment goes on as it was."""
        self.log.close()
        self.index.entries.close()
        self.time_index.entries.close()
        if self._txn_index is not None:
            self._txn_index.close()

    def move_to(self, directory: str) -> None:
        """The segment's directory has another name now."""
        self.directory = directory
        self.log.path = self.path(names.LOG)
        self.index.entries.move_to(self.path(names.INDEX))
        self.time_index.entries.move_to(self.path(names.TIME_INDEX))
        if self._txn_index is not None:
            self._txn_index.move_to(self.path(names.TXN_INDEX))

    def abandon(self) -> None:
        """Let go of the files as they are: they are deleted, or their disk failed."""
        self.log.forget()
        self.index.entries.forget()
        self.time_index.entries.forget()
        if self._txn_index is not None:
            self._txn_index.forget()

    def handles_to_sync(self, *, closed: bool) -> list[Handle]:
        """Pinned handles of the files that a sync must reach.

        The indexes of the active segment are left out: after a crash they are rebuilt anyway.
        """
        self.log.pin()
        handles = [self.log]
        try:
            if closed:
                handles.append(self.index.entries.pinned_handle())
                handles.append(self.time_index.entries.pinned_handle())
                if self.txn_index.has_file:
                    handles.append(self.txn_index.pinned_handle())
        except OSError:
            for handle in handles:
                handle.unpin()
            raise
        return handles

    def shorten(self, offset: Offset) -> Offset:
        """Leave out every batch that reaches `offset`; returns the end offset then. The files are not touched."""
        place = self.find(offset)
        if place is not None:
            self.size = place.position
            offset = min(offset, place.base_offset)
        self._first_timestamp = _NOT_LOADED
        return offset

    def cut_indexes(self, end: Offset, now: TimestampMs) -> None:
        """Bring the indexes in line with a segment that was shortened to `end`. Not synced: a crash rebuilds them."""
        self.index.truncate_to(end)
        self.time_index.truncate_to(end)
        if self.has_aborted:
            self.txn_index.truncate_to(end)
        if self.size == 0:
            self.created_ms = now
        self.make_writable()

    def _trim(self) -> None:
        """Give back room that was allocated ahead."""
        file = self.log.get()
        if file.size() > self.size:
            file.truncate(self.size)

    # --- reading

    def find(self, offset: Offset, *, cached: bool = False) -> BatchInFile | None:
        """The first batch whose last offset is at least `offset`. If `cached`, may raise NotCached."""
        indexed, position = self.index.lookup(offset, cached=cached)
        file = self.log.get()
        read = file.read_cached if cached else file.read
        if not 0 < position < self.size:  # no entry; or one that is damaged
            return batches.find(read, self.size, offset, FilePos(0))
        try:
            return batches.find(read, self.size, offset, position, first_ends=indexed)
        except CorruptBatch:
            # The index or the log is damaged. If it is the index, a walk from the start gets there all the same.
            return batches.find(read, self.size, offset, FilePos(0))

    def heads(self, start: Offset) -> Iterator[tuple[FilePos, BatchHead]]:
        """The heads of all batches from the one that holds `start` on."""
        place = self.find(start)
        if place is None:
            return iter(())
        return batches.heads(self.log.get(), self.size, place.position)

    def find_time(self, timestamp: TimestampMs, start: Offset) -> tuple[FilePos, BatchHead] | None:
        """The first batch that reaches `start` and has a record at or after `timestamp`."""
        for at, head in self.heads(max(self.time_index.lookup(timestamp), start)):
            if head.max_timestamp >= timestamp and head.last_offset >= start:
                return at, head
        return None

    def find_max_time(self) -> tuple[FilePos, BatchHead] | None:
        """The first batch with the largest timestamp of the segment."""
        largest = self.max_timestamp
        if largest < 0:
            return None
        for at, head in self.heads(self._offset_of_max):
            if head.max_timestamp == largest:
                return at, head
        return None

    @property
    def has_aborted(self) -> bool:
        """Whether transactions were aborted here."""
        return bool(self._txn_index_size) or self._txn_index is not None

    def aborted(self, start: Offset, end: Offset) -> tuple[list[AbortedTxn], bool]:
        """Aborted transactions of this segment that touch [start, end), and whether later segments cannot have more."""
        if not self.has_aborted:
            return [], False
        entries = self.txn_index.entries()
        found = []
        for number in range(bisect_left(entries, start, key=_LAST_OFFSET), len(entries)):
            entry = entries[number]
            if entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found, True
        return found, False

    # --- opening

    def read_next_offset(self) -> Offset:
        """One past the last offset, found from the last index entry on."""
        _, position = self.index.last()
        next_offset = self.base_offset
        for _, head in batches.heads(self.log.get(), self.size, position) if self.size else ():
            next_offset = head.next_offset
        return next_offset

    def check_tail(self) -> None:
        """Check the CRCs of the batches that tell the end of the segment, or raise CorruptBatch."""
        _, position = self.index.last()
        for _ in batches.checked(self.log.get(), self.size, position):
            pass

    def make_writable(self) -> None:
        """Make ready to append: count the bytes since the last index entry, drop the time index's closing entry.

        The closing entry is the one past the last entry of the offset index. Without it the files go on exactly as if
        the segment had never been closed, so that a rebuild gives the same bytes.
        """
        self._drop_damaged_index()
        indexed_offset, start = self.index.last()
        self.time_index.truncate_to(Offset(indexed_offset + 1) if len(self.index.entries) else self.base_offset)
        self._max_timestamp, self._offset_of_max = self.time_index.last()
        for _, head in batches.heads(self.log.get(), self.size, start):
            within = 0 <= head.last_offset - self.base_offset <= RELATIVE_OFFSET_MAX  # not so in a damaged one
            if head.max_timestamp > self._max_timestamp and within:
                self._max_timestamp, self._offset_of_max = head.max_timestamp, head.last_offset
        self.bytes_since_index = self.size - start

    def _drop_damaged_index(self) -> None:
        """Go on without entries rather than with those that a cut brought to the end and that are wrong."""
        if len(self.index.entries):
            try:
                self._check_last_entry(self.log.get(), *self.index.last())
            except (CorruptFile, CorruptBatch):
                self.index.entries.truncate(0)

    def check_indexes(self, index_interval_bytes: int) -> None:
        """Raise CorruptFile if an index is not one of this file, properly closed. Looks at the ends only."""
        file = self.log.get()
        indexed_offset, position = self.index.last()
        if len(self.index.entries):
            self._check_last_entry(file, indexed_offset, position)
        elif len(self.time_index.entries) > 1:
            raise CorruptFile(f"{self.time_index.entries.path}: entries where {self.index.entries.path} has none")
        max_timestamp, offset_of_max = self.time_index.last()
        if len(self.time_index.entries):
            self._check_last_time(file, max_timestamp, offset_of_max)
        elif self.size and self._has_timestamps(file):
            raise CorruptFile(f"{self.time_index.entries.path}: a closed segment has at least one entry")
        unindexed = _UNINDEXED_MAX * max(index_interval_bytes, _UNINDEXED_LEAST)
        first = True
        for at, head in batches.heads(file, self.size, position):
            if not first and at - position > unindexed:
                raise CorruptFile(f"{self.index.entries.path}: no entries past position {position} of {self.size}")
            if head.max_timestamp > max_timestamp:
                raise CorruptFile(f"{self.time_index.entries.path}: ends before timestamp {head.max_timestamp}")
            first = False
        if self._txn_index_size:
            self._check_last_aborted(file, self.txn_index.entries()[-1])

    def _check_last_entry(self, file: File, offset: Offset, position: FilePos) -> None:
        place = batches.find(file.read, self.size, offset, position) if 0 < position < self.size else None
        if place is None or place.position != position or place.last_offset != offset:
            raise CorruptFile(f"{self.index.entries.path}: no batch ends with offset {offset} at position {position}")

    def _check_last_time(self, file: File, timestamp: TimestampMs, offset: Offset) -> None:
        place = self.find(offset) if offset >= self.base_offset else None
        if place is not None:
            _, head = next(batches.heads(file, self.size, place.position))
            if head.max_timestamp == timestamp:
                return
        raise CorruptFile(f"{self.time_index.entries.path}: offset {offset} has no timestamp {timestamp}")

    def _check_last_aborted(self, file: File, txn: AbortedTxn) -> None:
        place = self.find(txn.last_offset)
        if place is not None:
            _, head = next(batches.heads(file, self.size, place.position))
            if head.is_control and (head.base_offset, head.producer_id) == (txn.last_offset, txn.producer_id):
                return
        raise CorruptFile(f"{self.path(names.TXN_INDEX)}: no marker of producer {txn.producer_id} at {txn.last_offset}")

    def _has_timestamps(self, file: File) -> bool:
        return next(batches.heads(file, self.size))[1].max_timestamp >= 0
