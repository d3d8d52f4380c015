"""Time that stands still until it is moved."""

from odradek.model.numbers import TimestampMs


class ManualClock:
    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> TimestampMs:
        return TimestampMs(self._now_ms)

    def monotonic_s(self) -> float:
        return self._now_ms / 1000

    def advance(self, ms: int) -> None:
        self._now_ms += ms
