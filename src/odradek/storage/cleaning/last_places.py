"""Where the last record of each key lies, in a bounded part of memory.

A place is the number of a batch, in the order in which they are noted, and where the record starts in what the batch
inflates to. So whoever writes the log anew needs to look at those records alone that stay.

    noted: keys -> dict -> where it is full, and from then on: shares by the hash of the key, in a file
    settled: share by share: blocks -> dict -> places, by windows of the log, in the same file

As long as the keys fit into memory, nothing goes to the file, and of the clean part of the log no key is noted: those
that were replaced are told by looking into the dict.
"""

import marshal
from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from typing import TYPE_CHECKING

from odradek.records.spans import note_keys
from odradek.storage.cleaning.spill import Spill

if TYPE_CHECKING:
    from collections.abc import Sequence

_START_BITS = 31
"""A batch has fewer bytes than an int32 can tell."""
_START_MASK = (1 << _START_BITS) - 1
_KEY_BYTES = 160
"""What a key in a dict costs, besides its own bytes: as an object, its place, its part of a table that grows."""
_SHARES = 64
_SHARE_MASK = _SHARES - 1
_INFLATION = 6
"""How many times as large an entry is in a dict as in a block, at most."""
_WINDOW_SHARE = 4
"""A window has a fourth as many bytes of records as keys may take of memory: its places take less than its records."""


class LastPlaces:
    """Noted in any order of segments: the clean part of the log after the dirty one, if at all."""

    def __init__(self, bytes_max: int, spill: Spill) -> None:
        self._bytes_max = bytes_max
        self._spill = spill
        self._held: dict[bytes, int] = {}
        self._shares: list[list[bytes | int]] = [[] for _ in range(_SHARES)]
        """Keys and places in turn, to be put aside."""
        self._room = bytes_max
        self._batches = 0
        """That were noted so far."""
        self._firsts: dict[int, int] = {}
        """By segment, the number of its first batch."""
        self._windows = [0]
        """The first batch of each."""
        self._window_room = bytes_max // _WINDOW_SHARE
        self._generation = 0
        self._keys = 0
        self.is_spilled = False
        self._places: Sequence[int] = ()
        """Of one window, or of all where nothing was spilled; they rise."""
        self._opened = range(0)
        """The batches of that window."""

    def __len__(self) -> int:
        """Keys that were noted. What was spilled counts when it is settled."""
        return self._keys + len(self._held)

    # --- noting

    def begin_segment(self, number: int) -> None:
        self._firsts[number] = self._batches

    def begin_older(self) -> None:
        """What is noted from now on is older than all that was noted before, though it comes later."""
        self._put_aside()
        self._generation += 1

    def skip(self) -> None:
        """A batch of which no record counts."""
        self._batches += 1

    def note(self, data: bytes, count: int) -> None:
        """The next batch: what it inflates to, and how many records that is. Those without a key are left out."""
        self._window_room -= len(data)
        if self._window_room < 0:
            self._windows.append(self._batches)
            self._window_room = self._bytes_max // _WINDOW_SHARE
        noted: dict[bytes, int] = {} if self.is_spilled else self._held
        before = len(noted)
        note_keys(data, count, self._batches << _START_BITS, noted)
        self._batches += 1
        grown = len(noted) - before
        if grown:
            self._room -= grown * _KEY_BYTES + sum(map(len, islice(reversed(noted), grown)))
            if self.is_spilled:
                self._share_out(noted)
            if self._room < 0:
                self._put_aside()

    def _share_out(self, noted: dict[bytes, int]) -> None:
        shares = self._shares
        for entry in noted.items():
            shares[hash(entry[0]) & _SHARE_MASK] += entry

    def _put_aside(self) -> None:
        """From the first time on, there is no dict of all keys any more: what comes goes to its share at once."""
        self._share_out(self._held)
        self._held.clear()
        for number, share in enumerate(self._shares):
            if share:
                self._spill.add(self._number(number, self._generation), marshal.dumps(share, 2))
                share.clear()
        self._room = self._bytes_max
        self.is_spilled = True

    # --- settling

    def settle(self) -> None:
        """All is noted: from now on, what was noted can be asked for."""
        if not self.is_spilled:
            self._places = sorted(self._held.values())
            self._opened = range(self._batches)
            return
        self._put_aside()
        for share in range(_SHARES):
            size = sum(self._spill.size_of(self._number(share, each)) for each in range(self._generation + 1))
            parts = 1 + size * _INFLATION // self._bytes_max
            for part in range(parts):
                places = self._settle_part(share, part, parts)
                self._keys += len(places)
                self._put_by_windows(places)

    def _put_by_windows(self, places: list[int]) -> None:
        low = 0
        for number, end in enumerate([*self._windows[1:], self._batches]):
            high = bisect_left(places, end << _START_BITS, low)
            if low < high:
                self._spill.add(-1 - number, array("q", places[low:high]).tobytes())
            low = high

    def _settle_part(self, share: int, part: int, parts: int) -> list[int]:
        """Places of the last records of those keys of a share that are in this part of it; they rise."""
        found: dict[bytes, int] = {}
        for generation in range(self._generation, -1, -1):
            for block in self._spill.read(self._number(share, generation)):
                entries = marshal.loads(block)  # made by this very process
                pairs = zip(entries[::2], entries[1::2], strict=True)
                if parts > 1:
                    pairs = ((key, place) for key, place in pairs if hash(key) // _SHARES % parts == part)  # type: ignore[assignment]
                found.update(pairs)
        return sorted(found.values())

    @staticmethod
    def _number(share: int, generation: int) -> int:
        return generation * _SHARES + share

    # --- asking

    def first_of(self, segment: int) -> int | None:
        """The number of its first batch; None if it was not noted."""
        return self._firsts.get(segment)

    def starts_in(self, batch: int) -> list[int]:
        """Where those of its records start that are the last of their keys."""
        if batch not in self._opened:
            self._open_window(bisect_right(self._windows, batch) - 1)
        low = bisect_left(self._places, batch << _START_BITS)
        high = bisect_left(self._places, (batch + 1) << _START_BITS, low)
        return [place & _START_MASK for place in self._places[low:high]]

    def _open_window(self, number: int) -> None:
        places = array("q")
        for block in self._spill.read(-1 - number):
            places.frombytes(block)
        self._places = sorted(places)
        ends = [*self._windows[1:], self._batches]
        self._opened = range(self._windows[number], ends[number])

    def unreplaced(self, data: bytes, count: int) -> list[int]:
        """Of a batch that was not noted, and is older than all that was: the records whose keys did not come again."""
        found: dict[bytes, int] = {}
        note_keys(data, count, 0, found)
        held = self._held
        return sorted(start for key, start in found.items() if key not in held)
