"""Fetches that wait for more to be there: woken by what is settled, ended by their time."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from odradek.replication.waiters import Reader


class Readable(Protocol):
    """What a fetch waits for: all of a partition, or its committed records."""

    readers: dict[Reader, None]


class WaitingFetch:
    """One timer for the whole fetch, and an entry at each partition that it asks for. A `Reader`."""

    __slots__ = ("_finish", "_loop", "_missing", "_readables", "_timer")

    def __init__(self, readables: Iterable[Readable], missing: int, wait_ms: int, finish: Callable[[], None]) -> None:
        """`finish` is called once: when `missing` bytes have come, when the time is over, or after `end`."""
        self._readables = tuple(readables)
        self._missing = missing
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(wait_ms / 1000, self.end)
        for each in self._readables:
            each.readers[self] = None

    def arrived(self, size: int) -> None:
        self._missing -= size
        if self._missing <= 0:
            self.end()

    def end(self) -> None:
        """Answer with what is there. Not at once: the one who appended comes first, and more may follow."""
        if self.cancel():
            self._loop.call_soon(self._finish)

    def cancel(self) -> bool:
        """False where it had ended already."""
        if self._timer is None:
            return False
        self._timer.cancel()
        self._timer = None
        for each in self._readables:
            each.readers.pop(self, None)
        return True
