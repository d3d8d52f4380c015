"""A file of fixed-size entries that only grows at its end: the common part of the offset and the time index.

New entries wait in memory, in `_tail`, and go to the file some hundred at a time: a crash loses nothing by it, since
recovery rebuilds the indexes of every segment that was not synced. Entries are looked up by halving the file, a page
at a time; the page that was used last is kept.
"""

from bisect import bisect_right
from struct import Struct

from odradek.storage.open_files import Handle

_SPILL_ENTRIES = 512
_PAGE_ENTRIES = 512


class EntryFile:
    """Entries of `struct`, sorted by their first field."""

    __slots__ = ("_handle", "_page", "_page_first", "_stored", "_struct", "_tail", "count")

    def __init__(self, handle: Handle, struct: Struct, stored: int) -> None:
        """`stored` is how many entries the file has."""
        self._handle = handle
        self._struct = struct
        self._stored = stored
        self.count = stored
        """Of all entries; kept by hand, since it is asked for at every append to a log."""
        self._tail: bytearray | None = None
        self._page: bytes | None = None
        self._page_first = 0

    def __len__(self) -> int:
        return self.count

    @property
    def path(self) -> str:
        return self._handle.path

    def append(self, *fields: int) -> None:
        tail = self._tail
        if tail is None:
            tail = self._tail = bytearray()
        tail += self._struct.pack(*fields)
        self.count += 1
        if len(tail) >= _SPILL_ENTRIES * self._struct.size:
            self.spill()

    def spill(self) -> None:
        """Write out what waits in memory."""
        if self._tail:
            self._handle.create().write(self._tail, self._stored * self._struct.size)
            self._stored = self.count
        self._tail = None

    def entry(self, number: int) -> tuple[int, ...]:
        size = self._struct.size
        if number >= self._stored:
            if not self._tail:
                raise IndexError(number)
            return self._struct.unpack_from(self._tail, (number - self._stored) * size)
        page = self._page
        if page is None or not self._page_first <= number < self._page_first + len(page) // size:
            page = self._load_page(number)
        return self._struct.unpack_from(page, (number - self._page_first) * size)

    def last(self) -> tuple[int, ...] | None:
        return self.entry(self.count - 1) if self.count else None

    def floor(self, key: int, *, cached: bool = False) -> tuple[int, ...] | None:
        """The last entry whose first field is at most `key`. If `cached`, may raise NotCached."""
        after = self._count_up_to(key, cached=cached)
        return self.entry(after - 1) if after else None

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries."""
        if count < self._stored:
            self._handle.create().truncate(count * self._struct.size)
            self._stored = count
            self._tail = None
            self._page = None
        elif self._tail is not None:
            del self._tail[(count - self._stored) * self._struct.size :]
        self.count = min(self.count, count)

    def count_below(self, key: int, *, field: int = 0) -> int:
        """How many entries have a field below `key`, which is one that rises from entry to entry."""
        return self._count_up_to(key - 1, field=field)

    def close(self) -> None:
        self.spill()
        self._page = None
        self._handle.close()

    def move_to(self, path: str) -> None:
        self._handle.path = path

    def forget(self) -> None:
        """The file is to be deleted or renamed: what waits in memory goes with it."""
        self._tail = None
        self._page = None
        self._handle.forget()

    def pinned_handle(self) -> Handle:
        """For a thread that syncs the file."""
        self.spill()
        self._handle.create()
        self._handle.pin()
        return self._handle

    def _count_up_to(self, key: int, *, cached: bool = False, field: int = 0) -> int:
        if not self.count:
            return 0
        if self._tail and self._struct.unpack_from(self._tail)[field] <= key:
            return self._stored + self._count_in(self._tail, key, field)
        return self._search_stored(key, cached, field) if self._stored else 0

    def _search_stored(self, key: int, cached: bool, field: int) -> int:
        # Who reads on from where he was needs the page that is kept, or the next one.
        page, first = self._page, self._page_first
        for _ in range(2):
            if page is None or self._struct.unpack_from(page)[field] > key:
                break
            after = first + len(page) // self._struct.size
            if after == self._stored or self._struct.unpack_from(page, len(page) - self._struct.size)[field] >= key:
                return first + self._count_in(page, key, field)
            page = self._load_page(after, cached=cached)  # or the same again, if it has grown since
            first = self._page_first
        # The first entry of each page tells which page to load; only that one replaces the page that is kept.
        size, unpack = self._struct.size, self._struct.unpack
        pages = range(0, self._stored, _PAGE_ENTRIES)
        after = bisect_right(pages, key, key=lambda number: unpack(self._read(size, number * size, cached))[field])
        if after == 0:
            return 0
        first = pages[after - 1]
        return first + self._count_in(self._load_page(first, cached=cached), key, field)

    def _count_in(self, entries: bytes | bytearray, key: int, field: int) -> int:
        """How many of these have a field of at most `key`."""
        size, unpack_from = self._struct.size, self._struct.unpack_from
        numbers = range(len(entries) // size)
        return bisect_right(numbers, key, key=lambda number: unpack_from(entries, number * size)[field])

    def _load_page(self, number: int, *, cached: bool = False) -> bytes:
        size = self._struct.size
        first = number - number % _PAGE_ENTRIES
        wanted = min(_PAGE_ENTRIES, self._stored - first) * size
        page = self._read(wanted, first * size, cached)
        if len(page) != wanted:
            raise OSError(f"{self._handle.path}: {len(page)} bytes at {first * size} where {wanted} were expected")
        self._page, self._page_first = page, first
        return page

    def _read(self, size: int, at: int, cached: bool) -> bytes:
        file = self._handle.get()
        return file.read_cached(size, at) if cached else file.read(size, at)
