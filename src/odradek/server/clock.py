"""The clock on the wall."""

import time

from odradek.model.numbers import TimestampMs


class SystemClock:
    def now_ms(self) -> TimestampMs:
        return TimestampMs(time.time_ns() // 1_000_000)
