"""The clock on the wall."""

import time

from odradek.model.numbers import TimestampMs


def monotonic_ms() -> int:
    """Of a clock that never goes back, whatever is done to the one on the wall."""
    return time.monotonic_ns() // 1_000_000


class SystemClock:
    def now_ms(self) -> TimestampMs:
        return TimestampMs(time.time_ns() // 1_000_000)
