"""Time that runs faster than ours."""

from collections.abc import Callable, Iterator

from odradek.pipelines.simulation.event import Event


class Pace:
    """From the moment at which it is made, `start_ms` there, each of our seconds is `speed` of theirs.

    `now_s` is a clock that only goes forward.
    """

    def __init__(self, start_ms: int, speed: float, now_s: Callable[[], float]) -> None:
        self._start_ms, self._speed, self._now_s = start_ms, speed, now_s
        self._began_s = now_s()

    def time_ms(self) -> int:
        """The time there."""
        return self._start_ms + int(self.elapsed_s() * self._speed * 1000)

    def elapsed_s(self) -> float:
        """Ours, since it was made."""
        return self._now_s() - self._began_s


class Queue:
    """Events in the order in which they are sent, taken when their time has come."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._next = next(events, None)

    def before(self, time_ms: int) -> Iterator[Event]:
        """Those that are sent before this time and were not taken yet."""
        while self._next is not None and self._next.sent_ms < time_ms:
            event, self._next = self._next, next(self._events, None)
            yield event
