"""The segments of a log, oldest first, and finding things in them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.records.batch import BatchHead
from odradek.records.record import Record, read_records
from odradek.storage import batches
from odradek.storage.segment import Segment, Slice
from odradek.storage.transaction_index import AbortedTxn


class FoundTime(NamedTuple):
    """A record found by its time."""

    offset: Offset
    timestamp: TimestampMs
    leader_epoch: LeaderEpoch


class Segments:
    """Never empty: the last one is that which is written to."""

    __slots__ = ("_all", "_bases")

    def __init__(self, segments: list[Segment]) -> None:
        self._all = segments
        self._bases = [segment.base_offset for segment in segments]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._all)

    @property
    def first_base(self) -> Offset:
        return self._bases[0]

    @property
    def active(self) -> Segment:
        return self._all[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._all)

    def since(self, offset: Offset) -> list[Segment]:
        """The segment that holds `offset` and those after it."""
        return self._all[self._number_of(offset) :]

    def as_list(self) -> list[Segment]:
        return list(self._all)

    # --- changing

    def add(self, segment: Segment) -> None:
        self._all.append(segment)
        self._bases.append(segment.base_offset)

    def remove(self, segment: Segment) -> None:
        number = self._all.index(segment)
        del self._all[number], self._bases[number]

    def take_first(self, count: int) -> list[Segment]:
        taken = self._all[:count]
        del self._all[:count], self._bases[:count]
        return taken

    def take_above(self, offset: Offset) -> list[Segment]:
        """Remove those whose base is above `offset`."""
        keep = bisect_right(self._bases, offset)
        taken = self._all[keep:]
        del self._all[keep:], self._bases[keep:]
        return taken

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """`old` are neighbours, and have no others' offsets between them."""
        number = self._all.index(old[0])
        self._all[number : number + len(old)] = new
        self._bases[number : number + len(old)] = [segment.base_offset for segment in new]

    # --- reading

    def read(
        self, offset: Offset, bytes_max: int, end: Offset | None, *, one_batch: bool, cached: bool
    ) -> Slice | None:
        """See Log.read. `end` is None where every batch may be read."""
        for number in range(self._number_of(offset), len(self._all)):
            segment = self._all[number]
            if end is not None and segment.base_offset >= end:
                return None
            place = segment.find(offset, cached=cached)
            if place is None:
                continue  # a cleaned segment may have nothing at or past the offset
            limit = segment.size if end is None else self._limit_in(number, end)
            wanted = max(bytes_max, place.size) if one_batch else bytes_max
            size = min(wanted, limit - place.position)
            if size < place.size:
                return None
            found = Slice(segment.log, place.position, size)
            if cached:
                found.check_cached()
            return found
        return None

    def records(self, start: Offset, end: Offset) -> Iterator[tuple[BatchHead, Record]]:
        for segment in self.since(start):
            for position, head in segment.heads(start):
                if head.base_offset >= end:
                    return
                for record in read_records(batches.read_batch(segment.log.get(), position, head), head):
                    if start <= record.offset < end:
                        yield head, record

    def find_time(self, timestamp: TimestampMs, start: Offset) -> FoundTime | None:
        """The first record at or past `start` with a time at or after `timestamp`."""
        for segment in self.since(start):
            if segment.size == 0 or segment.max_timestamp < timestamp:
                continue
            found = segment.find_time(timestamp, start)
            while found is not None:
                position, head = found
                for record in read_records(batches.read_batch(segment.log.get(), position, head), head):
                    if record.timestamp >= timestamp and record.offset >= start:
                        return FoundTime(record.offset, record.timestamp, head.leader_epoch)
                # The records that made the batch match lie before `start`.
                found = segment.find_time(timestamp, head.next_offset)
        return None

    def find_max_time(self) -> FoundTime | None:
        """The first record with the largest time."""
        with_times = [segment for segment in self._all if segment.size]
        segment = max(with_times, key=lambda each: each.max_timestamp, default=None)
        found = segment.find_max_time() if segment else None
        if segment is None or found is None:
            return None
        position, head = found
        for record in read_records(batches.read_batch(segment.log.get(), position, head), head):
            if record.timestamp == head.max_timestamp:
                return FoundTime(record.offset, record.timestamp, head.leader_epoch)
        return None

    def aborted(self, start: Offset, end: Offset) -> list[AbortedTxn]:
        """Aborted transactions with records in [start, end)."""
        found: list[AbortedTxn] = []
        for segment in self.since(start):
            some, complete = segment.aborted(start, end)
            found += some
            if complete:
                break
        return found

    def aborted_in(self, part: Slice, start: Offset, end: Offset) -> list[AbortedTxn]:
        """Aborted transactions that a reader of `part`, which was read from `start` on, has to know of.

        As Kafka tells them, which goes by the index: up to the next entry behind what was read. `end` is that of the
        log.
        """
        number = self._number_of(start)
        while self._all[number].log is not part.handle:
            number += 1
        segment = self._all[number]
        if not any(each.has_aborted for each in self._all[number:]):
            return []
        bound = segment.index.first_behind(part.position + part.size)
        if bound is None:
            bound = self._bases[number + 1] if number + 1 < len(self._bases) else end
        found: list[AbortedTxn] = []
        for each in self._all[number:]:
            some, complete = each.aborted(start, bound)
            found += some
            if complete:
                break
        return found

    def _number_of(self, offset: Offset) -> int:
        return max(bisect_right(self._bases, offset) - 1, 0)

    def _limit_in(self, number: int, end: Offset) -> int:
        """Where in a segment's file the batches below `end` end."""
        segment = self._all[number]
        if number + 1 < len(self._bases) and end >= self._bases[number + 1]:
            return segment.size
        place = segment.find(end)
        return segment.size if place is None else place.position
