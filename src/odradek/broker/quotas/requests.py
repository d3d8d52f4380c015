"""Time that requests of clients take of the loop, held to a share of it."""

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

from odradek.broker.quotas.limits import Limits, QuotaEntity
from odradek.broker.quotas.rate import NowMs, Rate, Windows
from odradek.broker.quotas.sensors import Sensors

_PERCENT = 100


class RequestTimes:
    """`request_percentage`: of one second, so that all clients together have 100.

    The loop does one thing at a time, so there is one watch: it runs for the request that is looked at.
    """

    def __init__(self, windows: Windows, now_ms: NowMs, watch: Callable[[], float]) -> None:
        """`watch` gives seconds as exactly as can be."""
        self._now_ms = now_ms
        self._watch = watch
        self._wait_ms_max = windows.size_ms
        self._sensors = Sensors(lambda bound: Rate(bound, windows), windows.span_ms)
        self._runs_for: QuotaEntity | None = None
        self._began = 0.0
        self.is_set = False
        """Whether anybody has such a quota."""

    def change(self, limits: Limits) -> None:
        self._sensors.change(limits)
        self.is_set = self._sensors.is_set

    def begin(self, request: QuotaEntity) -> None:
        """From now on time is spent on this request."""
        self._runs_for = request
        self._began = self._watch()

    def charge(self, request: QuotaEntity) -> int:
        """Count what was spent on a request since it was counted last; returns how many ms its client is to wait.

        Nothing is spent on it while the watch runs for another.
        """
        spent_s = 0.0
        if self._runs_for is request:
            now = self._watch()
            spent_s, self._began = now - self._began, now
        now_ms = self._now_ms()
        rate = self._sensors.of(request, now_ms)
        return min(rate.charge(spent_s * _PERCENT, now_ms), self._wait_ms_max) if rate is not None else 0

    def end(self, request: QuotaEntity) -> None:
        """Count the rest. The client hears of it with its next answer."""
        self.charge(request)
        self._runs_for = None


class Timed:
    """Work for a request that waits now and then: only what it does counts."""

    def __init__(self, times: RequestTimes, request: QuotaEntity, work: Awaitable[None]) -> None:
        self._times = times
        self._request = request
        self._work = work

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._work.__await__()
        step: Callable[[], Any] = partial(next, steps)
        while True:
            self._times.begin(self._request)
            try:
                awaited = step()
            except StopIteration:
                return
            finally:
                self._times.end(self._request)
            try:
                yield awaited
            except BaseException as error:  # noqa: BLE001 - it is for the work: it was cancelled, most likely
                step = partial(steps.throw, error)
            else:
                step = partial(next, steps)
