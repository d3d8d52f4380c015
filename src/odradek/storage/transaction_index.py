"""`.txnindex`: the aborted transactions whose markers lie in a segment. Entries of 34 bytes:

    0  version int16 (0)          10  first offset int64     26  last stable offset int64,
    2  producer id int64          18  last offset int64          when the marker was written

The file exists only if there is an entry. Entries are sorted by last offset.
"""

from struct import Struct
from typing import NamedTuple

from odradek.model.errors import CorruptFile
from odradek.model.numbers import Offset, ProducerId
from odradek.storage.open_files import Handle

ENTRY = Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size
VERSION = 0


class AbortedTxn(NamedTuple):
    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


def parse(data: bytes, path: str, base: Offset) -> list[AbortedTxn]:
    """All entries of a file, or CorruptFile."""
    if len(data) % ENTRY_SIZE:
        raise CorruptFile(f"{path}: {len(data)} bytes is no whole number of entries of {ENTRY_SIZE}")
    entries = []
    last = base - 1
    for number, (version, *fields) in enumerate(ENTRY.iter_unpack(data)):
        entry = AbortedTxn._make(fields)
        at = number * ENTRY_SIZE
        if version != VERSION:
            raise CorruptFile(f"{path} at {at}: version {version} of an entry is not known")
        if not (entry.first_offset < entry.last_offset and entry.last_offset > last):
            raise CorruptFile(f"{path} at {at}: offsets {entry.first_offset} to {entry.last_offset} out of order")
        last = entry.last_offset
        entries.append(entry)
    return entries


def pack(entries: list[AbortedTxn]) -> bytes:
    return b"".join(ENTRY.pack(VERSION, *entry) for entry in entries)


class TransactionIndex:
    """Held in memory once it was used: there are few entries, one for each aborted transaction."""

    __slots__ = ("_base", "_entries", "_handle", "count", "has_file")

    def __init__(self, handle: Handle, base: Offset, stored: int) -> None:
        self._handle = handle
        self._base = base
        self._entries: list[AbortedTxn] | None = None if stored else []
        self.count = stored
        self.has_file = stored > 0
        """Also once it was cut to nothing, which must be synced like an entry."""

    def entries(self) -> list[AbortedTxn]:
        if self._entries is None:
            data = self._handle.get().read(self.count * ENTRY_SIZE, 0)
            self._entries = parse(data, self._handle.path, self._base)
        return self._entries

    def append(self, entry: AbortedTxn) -> None:
        entries = self.entries()
        self._handle.create().write(ENTRY.pack(VERSION, *entry), self.count * ENTRY_SIZE)
        entries.append(entry)
        self.count += 1
        self.has_file = True

    def truncate_to(self, offset: Offset) -> None:
        """Drop transactions that ended at or above `offset`."""
        entries = self.entries()
        kept = [entry for entry in entries if entry.last_offset < offset]
        if len(kept) < len(entries):
            self._handle.create().truncate(len(kept) * ENTRY_SIZE)
            self._entries = kept
            self.count = len(kept)

    def pinned_handle(self) -> Handle:
        self._handle.pin()
        return self._handle

    def close(self) -> None:
        self._handle.close()

    def move_to(self, path: str) -> None:
        self._handle.path = path

    def forget(self) -> None:
        self._handle.forget()
