"""Holding back background work to so many bytes a second, a rate that may change at any time."""

import asyncio
from collections.abc import Callable

_LOOK_S = 0.5
"""How long a change of the rate may go unnoticed."""


class Pace:
    def __init__(self, bytes_per_second: Callable[[], int | None]) -> None:
        """None: as fast as it goes. With 0 nothing goes on until that changes."""
        self._rate = bytes_per_second
        self._owed = 0.0
        self._seen_s = 0.0

    async def spend(self, size: int) -> None:
        """Returns when what was spent before is paid for by the time that passed; `size` is to be paid for next."""
        while not self._is_paid():
            rate = self._rate()
            await asyncio.sleep(min(_LOOK_S, self._owed / rate) if rate else _LOOK_S)
        self._owed += size

    def _is_paid(self) -> bool:
        rate, now_s = self._rate(), asyncio.get_running_loop().time()
        if rate is None:
            self._owed = 0.0
        else:
            self._owed = max(self._owed - rate * (now_s - self._seen_s), 0.0)
        self._seen_s = now_s
        return self._owed < 1 and rate != 0  # less than a byte is not worth waiting for
