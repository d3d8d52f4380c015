"""`.timeindex`: from which offset on a timestamp is to be looked for. Entries of 12 bytes:

    0  timestamp int64: the largest in the segment up to this entry
    8  offset int32, relative to the segment's base: the last offset of the batch with that timestamp

An entry is made together with one of the offset index, if the largest timestamp rose since the last one; and once
more when the segment is closed, so that the last entry always tells the largest timestamp of a closed segment.
"""

from struct import Struct

from odradek.model.numbers import NO_TIMESTAMP, Offset, TimestampMs
from odradek.storage.entry_file import EntryFile
from odradek.storage.open_files import Handle

ENTRY = Struct(">qi")
ENTRY_SIZE = ENTRY.size


class TimeIndex:
    __slots__ = ("_base", "_last_timestamp", "entries")

    def __init__(self, handle: Handle, base: Offset, stored: int) -> None:
        self._base = base
        self._last_timestamp: TimestampMs | None = None if stored else NO_TIMESTAMP
        self.entries = EntryFile(handle, ENTRY, stored)

    def maybe_append(self, timestamp: TimestampMs, offset: Offset) -> None:
        """Add an entry if `timestamp` is above the last one."""
        last = self._last_timestamp
        if last is None:
            last = self.last()[0]
        if timestamp > last:
            self.entries.append(timestamp, offset - self._base)
            self._last_timestamp = timestamp

    def last(self) -> tuple[TimestampMs, Offset]:
        found = self.entries.last()
        timestamp, offset = found if found else (NO_TIMESTAMP, 0)
        self._last_timestamp = TimestampMs(timestamp)
        return TimestampMs(timestamp), Offset(self._base + offset)

    def lookup(self, timestamp: TimestampMs) -> Offset:
        """An offset before which no batch of the segment has a timestamp above `timestamp`."""
        found = self.entries.floor(timestamp)
        return Offset(self._base + found[1]) if found else self._base

    def truncate_to(self, offset: Offset) -> None:
        """Drop entries at or above `offset`."""
        entries, relative = self.entries, offset - self._base
        count = len(entries)
        # Offsets rise with the timestamps, so the entries to drop are the last ones; there are seldom many.
        while count and entries.entry(count - 1)[1] >= relative:
            count -= 1
        entries.truncate(count)
        self._last_timestamp = None if count else NO_TIMESTAMP
