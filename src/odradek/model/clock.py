"""Time as an argument: code that needs it takes a Clock, tests give one that they move by hand."""

from typing import Protocol

from odradek.model.numbers import TimestampMs


class Clock(Protocol):
    def now_ms(self) -> TimestampMs:
        """Wall-clock time, as records carry it."""
        ...

    def monotonic_s(self) -> float:
        """Of a clock that never goes back, whatever is done to the one on the wall, and as exact as can be."""
        ...
