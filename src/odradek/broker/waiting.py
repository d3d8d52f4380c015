"""Fetches that wait for more to be there: woken by what is appended, ended by their time."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol


class Awaited(Protocol):
    """What a fetch waits for."""

    waiting: "dict[WaitingFetch, None]"


class WaitingFetch:
    """One timer for the whole fetch, and an entry at each partition that it asks for."""

    __slots__ = ("_awaited", "_finish", "_loop", "_missing", "_timer")

    def __init__(self, awaited: Iterable[Awaited], missing: int, wait_ms: int, finish: Callable[[], None]) -> None:
        """`finish` is called once: when `missing` bytes have come, when the time is over, or when told by `end`."""
        self._awaited = tuple(awaited)
        self._missing = missing
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(wait_ms / 1000, self.end)
        for each in self._awaited:
            each.waiting[self] = None

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
        for each in self._awaited:
            each.waiting.pop(self, None)
        return True
