"""Tells where something held the event loop, and with it every client.

The loop is asked to call in short intervals, and the meter looks how late it does. So it costs next to nothing, and it
finds every stall of the limit and an interval, and of shorter ones those that a call was due in.
"""

import asyncio
import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

LIMIT_S = 0.1
_INTERVAL_S = 0.1


class StallMeter:
    """Of the loop that it is started in. Its figures count from then on."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cpu_s: Callable[[], float] = time.thread_time) -> None:
        """`cpu_s` is the CPU time that the loop's thread has used."""
        self._loop = loop
        self._cpu_s = cpu_s
        self._timer: asyncio.TimerHandle | None = None
        self._cpu_before_s = 0.0
        self.count = 0
        """Stalls past the limit."""
        self.longest_s = 0.0

    def start(self) -> None:
        self._cpu_before_s = self._cpu_s()
        self._timer = self._loop.call_later(_INTERVAL_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        assert self._timer is not None
        late_s, cpu_s = self._loop.time() - self._timer.when(), self._cpu_s()
        if late_s > LIMIT_S:
            self.count += 1
            self.longest_s = max(self.longest_s, late_s)
            # With as much CPU time the broker was at work; with little it waited: for a disk, or for the machine.
            fields = {"ms": round(late_s * 1000), "cpu_ms": round((cpu_s - self._cpu_before_s) * 1000)}
            logger.warning("the event loop was held up", extra=fields)
        self._cpu_before_s = cpu_s
        self._timer = self._loop.call_later(_INTERVAL_S, self._look)
