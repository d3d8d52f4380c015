"""Deadlines by key, all in one heap. Most are moved before they come, as by each heartbeat: that costs a look-up.

An entry of the heap says when its key is looked at next. Where the deadline was moved further away by then, the key is
queued anew; so a key has one entry, or a second where its deadline was moved nearer.
"""

from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush

Key = Hashable


class Timers:
    def __init__(self, now_ms: Callable[[], int]) -> None:
        """`now_ms` never goes back. It need not tell the time of day."""
        self._now_ms = now_ms
        self._deadlines: dict[Key, int] = {}
        self._queued: dict[Key, int] = {}
        """When a key is looked at next."""
        self._heap: list[tuple[int, int, Key]] = []
        self._count = 0
        self.sooner: Callable[[], None] = _nothing
        """Told when `next_ms` has become sooner."""

    def __len__(self) -> int:
        return len(self._deadlines)

    def __contains__(self, key: Key) -> bool:
        return key in self._deadlines

    def set(self, key: Key, delay_ms: int) -> None:
        """From now, in place of any deadline that the key had."""
        at = self._deadlines[key] = self._now_ms() + delay_ms
        queued = self._queued.get(key)
        if queued is None or at < queued:
            self._queue(key, at)
            if self._heap[0][2] is key:
                self.sooner()

    def cancel(self, key: Key) -> None:
        """Nothing happens where it has none."""
        self._deadlines.pop(key, None)

    def clear(self) -> None:
        self._deadlines.clear()
        self._queued.clear()
        self._heap.clear()

    @property
    def next_ms(self) -> int | None:
        """When to look at `due` again, on the clock of `now_ms`. There may be nothing due then."""
        return self._heap[0][0] if self._heap else None

    def due(self) -> Iterator[Key]:
        """Those whose time has come, first things first; each is gone when it is given."""
        now = self._now_ms()
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heappop(self._heap)
            if self._queued.get(key) != at:
                continue  # of a deadline that was moved nearer: its other entry came first
            del self._queued[key]
            deadline = self._deadlines.get(key)
            if deadline is None:
                continue
            if deadline > at:  # it may be due as well, but behind others
                self._queue(key, deadline)
                continue
            del self._deadlines[key]
            yield key

    def _queue(self, key: Key, at: int) -> None:
        self._queued[key] = at
        self._count += 1
        heappush(self._heap, (at, self._count, key))


def _nothing() -> None:
    return
