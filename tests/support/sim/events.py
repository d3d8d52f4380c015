"""What is to happen and when: one heap, and a clock that jumps from one event to the next."""

from collections.abc import Callable
from heapq import heappop, heappush

from odradek.model.numbers import TimestampMs

_EPOCH_MS = 1_700_000_000_000


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
            self.now_ms, _, call = heappop(self._heap)
            call()
        self.now_ms = at_ms


class WallClock:
    """The time of day in a simulation."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def now_ms(self) -> TimestampMs:
        return TimestampMs(_EPOCH_MS + self._events.now_ms)

    def monotonic_s(self) -> float:
        return self._events.now_ms / 1000
