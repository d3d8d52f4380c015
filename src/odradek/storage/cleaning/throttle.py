"""Holding back work to so many bytes a second."""

from collections.abc import Callable


class Throttle:
    """Bytes that are spent faster than the rate are waited for, some milliseconds at a time."""

    def __init__(self, bytes_per_second: float, now_s: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._rate = bytes_per_second
        self._now_s = now_s
        self._sleep = sleep
        self._began_s = now_s()
        self._spent = 0
        self._unnoticed = 0
        self._check_bytes = min(bytes_per_second / 50, 1 << 20)

    def spend(self, size: int) -> None:
        self._unnoticed += size
        if self._unnoticed < self._check_bytes:
            return
        self._spent += self._unnoticed
        self._unnoticed = 0
        ahead_s = self._spent / self._rate - (self._now_s() - self._began_s)
        if ahead_s > 0:
            self._sleep(ahead_s)
