"""What the log tells of a loop that was held up."""

import asyncio
import heapq
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
import uvloop

from odradek.process.stalls import LIMIT_S, StallMeter


class Loop:
    """Whose time passes as a test says, and which nobody else uses."""

    class Timer:
        def __init__(self, at: float) -> None:
            self.at, self.is_cancelled = at, False

        def when(self) -> float:
            return self.at

        def cancel(self) -> None:
            self.is_cancelled = True

    def __init__(self) -> None:
        self.now = self.cpu = 0.0
        self.timers: list[tuple[float, int, Loop.Timer, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> "Loop.Timer":
        timer = Loop.Timer(self.now + delay)
        heapq.heappush(self.timers, (timer.at, len(self.timers), timer, call))
        return timer

    def run_for(self, duration: float) -> None:
        """Calls come in time."""
        until = self.now + duration
        while self.timers and self.timers[0][0] <= until:
            at, _, timer, call = heapq.heappop(self.timers)
            self.now = max(self.now, at)
            if not timer.is_cancelled:
                call()
        self.now = until

    def hold(self, duration: float, cpu: float) -> None:
        self.now += duration
        self.cpu += cpu


def meter_of(loop: Loop) -> StallMeter:
    meter = StallMeter(cast("Any", loop), lambda: loop.cpu)
    meter.start()
    return meter


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[int, int]]:
    return [(vars(each)["ms"], vars(each)["cpu_ms"]) for each in caplog.records]


def test_a_loop_that_is_never_held_has_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    meter = meter_of(loop)
    for _ in range(100):
        loop.run_for(0.3)
        loop.hold(0.09, 0.09)
    assert (meter.count, meter.longest_s, told(caplog)) == (0, 0, [])


def test_each_stall_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    meter = meter_of(loop)
    loop.run_for(1.01)
    loop.hold(2.0, 1.5)
    loop.run_for(1.0)
    loop.hold(0.5, 0)
    loop.run_for(1.0)
    (first, first_cpu), (second, second_cpu) = told(caplog)
    assert 1900 <= first <= 2000
    assert 400 <= second <= 500
    assert (first_cpu, second_cpu) == (1500, 0)
    assert (meter.count, round(meter.longest_s * 1000)) == (2, first)


def test_none_is_missed_that_is_longer_than_the_limit_and_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    meter = meter_of(loop)
    for number in range(50):
        loop.run_for(1 + number / 97)
        loop.hold(LIMIT_S + 0.101, 0)
    loop.run_for(1)
    assert meter.count == 50


def test_after_its_stop_it_looks_no_more() -> None:
    loop = Loop()
    meter = meter_of(loop)
    meter.stop()
    loop.hold(1, 1)
    loop.run_for(1)
    assert meter.count == 0


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_in_a_real_loop(run: Callable[..., int], caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> int:
        meter = StallMeter(asyncio.get_running_loop())
        meter.start()
        until = time.thread_time() + 0.3
        while time.thread_time() < until:
            pass
        while not meter.count:  # noqa: ASYNC110 - its own call has to come
            await asyncio.sleep(0)
        meter.stop()
        return meter.count

    assert run(main()) == 1
    ((_, cpu_ms),) = told(caplog)
    assert cpu_ms >= 299
