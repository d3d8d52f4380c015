"""What is to happen and when: one heap, and a clock that jumps from one event to the next."""

from collections.abc import Callable
from heapq import heappop, heappush

from odradek.model.numbers import TimestampMs

EPOCH_MS = TimestampMs(1_700_000_000_000)
"""When each simulation begins. Clients write all their records with it: of a producer whose last batch is older than
a day, or has no time, nothing is known after a restart."""


class Events:
    def __init__(self) -> None:
        self.now_ms = 0
        """Since the beginning. What happens at one time happens in the order in which it was asked for."""
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, delay_ms: int, call: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._heap, (self.now_ms + max(delay_ms, 0), self._count, call))

    def run_until(self, at_ms: int) -> None:
        """All that happens up to then, that moment included."""
        while self._heap and self._heap[0][0] <= at_ms:
            self.run_next()
        self.now_ms = at_ms

    def run_next(self) -> bool:
        """False where nothing is to happen any more."""
        if not self._heap:
            return False
        self.now_ms, _, call = heappop(self._heap)
        call()
        return True


class SimClock:
    """The clock of a machine, whose time of day may jump."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._ahead_ms = 0

    def jump(self, ahead_ms: int) -> None:
        """To so much before or behind the time that it is."""
        self._ahead_ms = ahead_ms

    def now_ms(self) -> TimestampMs:
        return TimestampMs(EPOCH_MS + self._events.now_ms + self._ahead_ms)

    def monotonic_s(self) -> float:
        return self._events.now_ms / 1000
