"""The machine's clocks: the one on the wall, and the one that never goes back."""

import time

from odradek.model.numbers import TimestampMs


class SystemClock:
    monotonic_s = staticmethod(time.monotonic)
    """Itself, with no call around it: connections look at it after each request."""

    def now_ms(self) -> TimestampMs:
        return TimestampMs(time.time_ns() // 1_000_000)
