"""Whether the entries of an offset index and a time index are true of the segment beside them.

An entry that is missing is no fault: brokers leave some out at every restart, and a search only starts earlier. An
entry that is wrong makes a reader miss what it looks for.
"""

from collections.abc import Iterator
from struct import Struct

from odradek.model.numbers import NO_TIMESTAMP, Offset, TimestampMs
from odradek.records.batch import BatchHead
from odradek.storage import offset_index, time_index
from odradek.storage.verify.findings import Finding, error, note

_NEVER = 1 << 64


class Entries:
    """The entries of an index file, without the zeros to which a broker allocates it while it writes to it."""

    def __init__(self, path: str, data: bytes, struct: Struct) -> None:
        size = struct.size
        whole = len(data) - len(data) % size
        used = min(-(-len(data.rstrip(b"\0")) // size) * size, whole)
        self.path = path
        self.at = -size
        """Where the last entry taken lies."""
        self.zeros_at = used if used < whole else None
        self._size, self._whole = len(data), whole
        self._struct = struct
        self._entries = struct.iter_unpack(memoryview(data)[:used])

    @property
    def is_one_of_zeros(self) -> bool:
        return self.zeros_at == 0 and self._size == self._struct.size

    def take(self) -> tuple[int, int] | None:
        self.at += self._struct.size
        return next(self._entries, None)

    def check_size(self) -> Iterator[Finding]:
        if self._size > self._whole:
            text = f"{self._size} bytes is no whole number of entries of {self._struct.size}"
            yield error(self.path, text, self._whole)


class OffsetIndexCheck:
    """Goes along with the batches of a segment."""

    def __init__(self, entries: Entries, base: Offset) -> None:
        self.entries = entries
        self.path = entries.path
        self.next_position = -1
        """Of the entry to look at next."""
        self._offset = -1
        self._base = base
        self._later: list[int] = []
        """Where entries lie that name the end of a later batch than the one they point to."""
        self._next()

    def look(self, position: int, head: BatchHead) -> Iterator[Finding]:
        """`next_position` is reached by this batch, or was passed."""
        while self.next_position <= position:
            if self.next_position < position:
                yield self._nothing_there()
            elif self._offset < head.last_offset:
                text = f"offset {self._offset} at position {position}, where a batch ends with {head.last_offset}"
                yield error(self.path, text, self.entries.at)
            elif self._offset > head.last_offset:
                self._later.append(self.entries.at)
            yield from self._go_on()

    def pass_over(self, end: int) -> None:
        """What lies before `end` cannot be read."""
        while self.next_position < end:
            self._next()

    def end(self, end_offset: Offset) -> Iterator[Finding]:
        """All batches were seen, and none is missing."""
        while self.next_position < _NEVER:
            yield self._nothing_there()
            yield from self._go_on()
        if self._offset >= end_offset:
            yield error(self.path, f"offset {self._offset} in a segment that ends before {end_offset}", self.entries.at)
        elif self._later:
            text = f"{len(self._later)} entries name the end of a later batch, as followers before Kafka 4 wrote them"
            yield note(self.path, text, self._later[0])

    def _nothing_there(self) -> Finding:
        text = f"offset {self._offset} at position {self.next_position}: no batch starts there"
        return error(self.path, text, self.entries.at)

    def _go_on(self) -> Iterator[Finding]:
        offset, position = self._offset, self.next_position
        self._next()
        if self.next_position <= position or (self.next_position < _NEVER and self._offset <= offset):
            text = f"offset {self._offset} at position {self.next_position} after offset {offset} at {position}"
            yield error(self.path, text, self.entries.at)

    def _next(self) -> None:
        entry = self.entries.take()
        if entry is None:
            self.next_position = _NEVER
        else:
            self._offset, self.next_position = self._base + entry[0], entry[1]


class TimeIndexCheck:
    """Goes along with the batches of a segment."""

    def __init__(self, entries: Entries, base: Offset) -> None:
        self.entries = entries
        self.path = entries.path
        self.max_timestamp: TimestampMs = NO_TIMESTAMP
        """The largest of the batches so far; kept up by whoever goes along."""
        self.next_offset = -1
        """Of the entry to look at next."""
        self._timestamp = -1
        self._base = base
        self._next()

    def look(self, head: BatchHead, *, whole: bool) -> Iterator[Finding]:
        """`next_offset` is reached by this batch. Unless all before it is `whole`, the offset may have been there."""
        while self.next_offset <= head.last_offset:
            if self.next_offset < head.base_offset:
                if whole:
                    yield self._nothing_there()
            elif self._timestamp != head.max_timestamp:
                text = f"timestamp {self._timestamp} at offset {self.next_offset}, whose batch has {head.max_timestamp}"
                yield error(self.path, text, self.entries.at)
            elif self._timestamp < self.max_timestamp:
                text = f"timestamp {self._timestamp} at offset {self.next_offset}, after one of {self.max_timestamp}"
                yield error(self.path, text, self.entries.at)
            yield from self._go_on()

    @property
    def is_of_1970(self) -> bool:
        """All zeros is also what an entry looks like of the first offset and the beginning of time."""
        return self.entries.is_one_of_zeros and self.max_timestamp == 0

    def end(self) -> Iterator[Finding]:
        """All batches were seen, and none is missing."""
        while self.next_offset < _NEVER:
            yield self._nothing_there()
            yield from self._go_on()

    def _nothing_there(self) -> Finding:
        text = f"timestamp {self._timestamp} at offset {self.next_offset}: no batch has that offset"
        return error(self.path, text, self.entries.at)

    def _go_on(self) -> Iterator[Finding]:
        timestamp, offset = self._timestamp, self.next_offset
        self._next()
        if self.next_offset < offset or (self.next_offset < _NEVER and self._timestamp <= timestamp):
            text = f"timestamp {self._timestamp} at offset {self.next_offset} after {timestamp} at {offset}"
            yield error(self.path, text, self.entries.at)

    def _next(self) -> None:
        entry = self.entries.take()
        if entry is None:
            self.next_offset = _NEVER
        else:
            self._timestamp, self.next_offset = entry[0], self._base + entry[1]


def offset_index_check(path: str, data: bytes, base: Offset) -> OffsetIndexCheck:
    return OffsetIndexCheck(Entries(path, data, offset_index.ENTRY), base)


def time_index_check(path: str, data: bytes, base: Offset) -> TimeIndexCheck:
    return TimeIndexCheck(Entries(path, data, time_index.ENTRY), base)
