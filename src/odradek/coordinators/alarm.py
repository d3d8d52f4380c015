"""One timer of the loop for the deadlines of many."""

import asyncio
from collections.abc import Callable
from functools import partial

from odradek.coordinators.timers import Timers

_LATE_MS = 200
"""So late it is only if the whole process stood still, or the machine."""
_HEARING_S = 0.05
"""Then it waits for what came meanwhile. Within 0 s some loops read nothing."""


class Alarm:
    def __init__(self, ring: Callable[[], None]) -> None:
        """`ring` is called when some timers of `new_timers` may have deadlines that are due.

        It has to call `set_for` for all of them in the end, as they may have others.
        """
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._at_ms = 0

    def new_timers(self) -> Timers:
        timers = Timers(self._now_ms)
        timers.sooner = partial(self.set_for, timers)
        return timers

    def set_for(self, timers: Timers) -> None:
        """Rings when the first of these is due, or sooner for others."""
        at = timers.next_ms
        if at is None or (self._handle is not None and self._at_ms <= at):
            return
        self.cancel()
        self._at_ms = at
        self._handle = self._loop.call_at(at / 1000, self._come)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _come(self) -> None:
        if self._now_ms() - self._at_ms > _LATE_MS:
            # There may be heartbeats among it, in their sockets still.
            self._handle = self._loop.call_later(_HEARING_S, self._come_at_last)
        else:
            self._come_at_last()

    def _come_at_last(self) -> None:
        self._handle = None
        self._ring()

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)
