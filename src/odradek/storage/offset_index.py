"""`.index`: where in the segment's file an offset is to be looked for. Entries of 8 bytes:

    0  offset int32, relative to the segment's base: the last offset of a batch
    4  position int32 of that batch in the file

Not every batch has one: an entry is made for the first batch that starts more than index.interval.bytes after the
one that had the last entry. No entry has position 0.
"""

from struct import Struct

from odradek.model.numbers import FilePos, Offset
from odradek.storage.entry_file import EntryFile
from odradek.storage.open_files import Handle

ENTRY = Struct(">ii")
ENTRY_SIZE = ENTRY.size


class OffsetIndex:
    __slots__ = ("_base", "entries")

    def __init__(self, handle: Handle, base: Offset, stored: int) -> None:
        self._base = base
        self.entries = EntryFile(handle, ENTRY, stored)

    def append(self, last_offset: Offset, position: FilePos) -> None:
        self.entries.append(last_offset - self._base, position)

    def lookup(self, offset: Offset, *, cached: bool = False) -> tuple[Offset, FilePos]:
        """An offset not above `offset`, and a position from which on it is to be found.

        If `cached`, may raise NotCached.
        """
        found = self.entries.floor(offset - self._base, cached=cached)
        return (Offset(self._base + found[0]), FilePos(found[1])) if found else (self._base, FilePos(0))

    def first_behind(self, position: int) -> Offset | None:
        """The offset of the first entry at or past a position of the segment's file."""
        number = self.entries.count_below(position, field=1)
        return Offset(self._base + self.entries.entry(number)[0]) if number < len(self.entries) else None

    def last(self) -> tuple[Offset, FilePos]:
        found = self.entries.last()
        return (Offset(self._base + found[0]), FilePos(found[1])) if found else (self._base, FilePos(0))

    def truncate_to(self, offset: Offset) -> None:
        """Drop entries at or above `offset`."""
        self.entries.truncate(self.entries.count_below(offset - self._base))
