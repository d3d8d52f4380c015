"""One segment: every batch of its log, and its three indexes against them."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field

from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import Offset
from odradek.process.files import File
from odradek.records.batch import HEAD_SIZE, BatchHead
from odradek.records.record import check_records
from odradek.storage import names, offset_index, time_index, transaction_index
from odradek.storage.verify.continuity import Continuity
from odradek.storage.verify.findings import Finding, Run, Severity, error, from_corrupt, from_os, note, warning
from odradek.storage.verify.indexes import OffsetIndexCheck, TimeIndexCheck, offset_index_check, time_index_check
from odradek.storage.verify.producers import ProducerCheck
from odradek.storage.verify.stored import RecordsCheck
from odradek.storage.verify.walk import Damage, Kind, walk

_ZERO = Offset(0)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the log directory says of a partition in it."""

    clean: bool = False
    """The broker that had it stopped properly. Otherwise the ends of logs and indexes may be unfinished."""
    in_use: bool = False
    """A broker has it open right now."""
    known: bool = False
    """The partition lies in its log directory; a copy of it alone tells nothing of the other fields."""
    recovery_point: Offset | None = None
    log_start: Offset = _ZERO
    cleaned_to: Offset | None = None
    """Below it records may have been removed by compaction; None where the log was never compacted."""


@dataclass(slots=True)
class Course:
    """What goes along from one segment of a log to the next."""

    directory: str
    now: Circumstances
    continuity: Continuity
    producers: ProducerCheck
    stored: RecordsCheck | None = None
    """For topics whose records a broker reads when it starts."""
    whole: bool = True
    """Every batch so far could be read."""
    zero_filled: list[str] = field(default_factory=list)
    """Indexes that end with the zeros to which they were allocated."""


class SegmentCheck:
    def __init__(self, run: Run, course: Course, base: Offset, sizes: Mapping[str, int]) -> None:
        """`sizes` has the suffix of each file that there is."""
        self._run = run
        self._course = course
        self._now = course.now
        self._base = base
        self._sizes = sizes
        self._path = self._path_of(names.LOG)
        self._whole = True
        self._position = 0

    def run(self, next_base: Offset | None) -> Iterator[Finding]:
        """`next_base` is where the next segment starts, or None for the last one."""
        is_last = next_base is None
        moving = is_last and self._now.in_use
        yield from self._course.continuity.start_segment(self._path, self._base)
        # The indexes are read first: an entry is written after the batch that it points to.
        index_data = yield from self._read_index(names.INDEX, offset_index.ENTRY_SIZE, moving=moving)
        time_data = yield from self._read_index(names.TIME_INDEX, time_index.ENTRY_SIZE, moving=moving)
        txn_data = (yield from self._read(names.TXN_INDEX)) if names.TXN_INDEX in self._sizes else b""
        index = offset_index_check(self._path_of(names.INDEX), index_data, self._base)
        time = time_index_check(self._path_of(names.TIME_INDEX), time_data, self._base)
        try:
            file = self._run.files.open_to_read(self._path)
        except OSError as problem:
            yield self._not_read(problem)
            self._lose_track()
        else:
            try:
                yield from self._read_batches(file, index, time, is_last)
            except OSError as problem:
                yield self._not_read(problem)
                self._lose_track()
            finally:
                file.close()
        yield from self._end_indexes(index, time, moving=moving)
        synced = self._now.clean or (next_base is not None and next_base <= (self._now.recovery_point or 0))
        missing = None if moving else Severity.ERROR if synced else Severity.WARNING
        yield from self._end_txn_index(txn_data, missing)
        self._run.tally.files += len(self._sizes)
        self._run.tally.segments += 1

    def _path_of(self, suffix: str) -> str:
        return f"{self._course.directory}/{names.file_name(self._base, suffix)}"

    def _read_index(self, suffix: str, entry_size: int, *, moving: bool) -> Generator[Finding, None, bytes]:
        """As much as can hold entries: the room that a broker takes ahead is large, and there are many indexes."""
        if suffix not in self._sizes:
            if not moving:
                yield warning(self._path_of(suffix), "is missing; a broker makes it again at its next start")
            return b""
        entries_max = self._sizes[names.LOG] // HEAD_SIZE + 1
        size_max = self._sizes[suffix] if self._now.clean else entries_max * entry_size
        return (yield from self._read(suffix, size_max)) or b""

    def _read(self, suffix: str, size_max: int | None = None) -> Generator[Finding, None, bytes | None]:
        path, size = self._path_of(suffix), self._sizes[suffix]
        try:
            file = self._run.files.open_to_read(path)
            try:
                return file.read(size if size_max is None else min(size, size_max), 0)
            finally:
                file.close()
        except OSError as problem:
            yield from_os(path, problem, self._now.in_use)
            return None

    # --- the log

    def _read_batches(  # noqa: C901 - one loop, taken once for each batch: calls would cost more than they explain
        self, file: File, index: OffsetIndexCheck, time: TimeIndexCheck, is_last: bool
    ) -> Iterator[Finding]:
        """The one loop over all batches: what is as it nearly always is costs a comparison or two."""
        path, tally, deep, stored = self._path, self._run.tally, self._run.deep, self._course.stored
        continuity, producers = self._course.continuity, self._course.producers
        size = file.size()
        for each in walk(file, size, self._base, self._run.advance):
            if isinstance(each, Damage):
                yield self._describe(each, is_tail=is_last and each.end == size)
                self._lose_track()
                index.pass_over(each.end)
                continue
            position, head, batch = each
            self._position = position
            if not continuity.continues(head):
                yield from continuity.look_closer(path, position, head)
                if continuity.shows_compaction:
                    producers.lose_track()
            if index.next_position <= position:
                yield from index.look(position, head)
            last = head.base_offset + head.last_offset_delta
            if head.max_timestamp > time.max_timestamp:
                time.max_timestamp = head.max_timestamp
            if time.next_offset <= last:
                yield from time.look(head, whole=self._whole)
            if producers.next_snapshot <= last:
                yield from producers.reach(head.base_offset, head.last_offset)
            if head.producer_id >= 0:
                if head.is_control:
                    yield from producers.take_control(path, position, head, batch)
                else:
                    producers.take(head)
            if stored is not None:
                yield from stored(path, position, head, batch)
            elif deep:
                yield from self._look_inside(position, head, batch)
            continuity.take(head)
            tally.batches += 1
            tally.records += head.count

    def _look_inside(self, position: int, head: BatchHead, batch: memoryview) -> Iterator[Finding]:
        try:
            check_records(batch, head)
        except CorruptBatch as corrupt:
            yield error(self._path, str(corrupt), position)

    def _describe(self, damage: Damage, *, is_tail: bool) -> Finding:
        text = damage.text
        if damage.kind is Kind.BAD:
            if damage.end - damage.position > HEAD_SIZE:
                text = f"{text}; {damage.end - damage.position} bytes cannot be read"
            return error(self._path, text, damage.position)
        if not is_tail or self._now.clean:
            return error(self._path, text, damage.position)
        if self._now.in_use:
            return note(self._path, f"{text}; it may be being written", damage.position)
        return warning(self._path, f"{text}; a broker cuts the log here at its next start", damage.position)

    def _lose_track(self) -> None:
        self._whole = self._course.whole = False
        self._course.continuity.broken = True
        self._course.producers.lose_track()

    def _not_read(self, problem: OSError) -> Finding:
        return from_os(self._path, problem, self._now.in_use, self._position or None)

    # --- the indexes

    def _end_indexes(self, index: OffsetIndexCheck, time: TimeIndexCheck, *, moving: bool) -> Iterator[Finding]:
        for entries in (index.entries, time.entries):
            yield from entries.check_size()
            if entries.zeros_at is None or (entries is time.entries and time.is_of_1970):
                continue
            self._course.zero_filled.append(entries.path)
            if self._now.clean:
                yield error(entries.path, "only zeros from here on, after a proper stop", entries.zeros_at)
        if self._whole and not moving:
            yield from index.end(self._course.continuity.next_offset)
            yield from time.end()

    def _end_txn_index(self, data: bytes | None, missing: Severity | None) -> Iterator[Finding]:
        path = self._path_of(names.TXN_INDEX)
        entries = None
        try:
            entries = None if data is None else transaction_index.parse(data, path, self._base)
        except CorruptFile as corrupt:
            yield from_corrupt(path, corrupt)
        if entries is None:
            self._course.producers.forget_segment()
            return
        whole = self._whole and self._now.cleaned_to is None
        yield from self._course.producers.end_segment(path, entries, whole=whole, missing=missing)
