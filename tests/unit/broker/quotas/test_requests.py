"""Time that requests take: counted for whom it is spent on, and only while it is."""

import asyncio
from typing import NamedTuple

import pytest

from odradek.broker.quotas.limits import ANY, Limits
from odradek.broker.quotas.rate import Windows
from odradek.broker.quotas.requests import RequestTimes, Timed
from support.clock import ManualClock


class Request(NamedTuple):
    user: str
    client_id: str
    number: int = 0


class Watch:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def spend(self, ms: float) -> None:
        self.now_s += ms / 1000


class Stage:
    """Where clients have a tenth of the loop: a tenth of a second of each second, and one second of it at once."""

    def __init__(self) -> None:
        self.clock, self.watch = ManualClock(), Watch()
        self.times = RequestTimes(Windows(11, 1000), self.clock.now_ms, self.watch)
        self.times.change(Limits({("", ANY): 10.0}))

    def serve(self, request: Request, ms: float) -> int:
        """How long its client waits then."""
        self.times.begin(request)
        self.watch.spend(ms)
        wait_ms = self.times.charge(request)
        self.times.end(request)
        return wait_ms


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_client_that_takes_more_than_its_share_waits_but_not_longer_than_a_window(stage: Stage) -> None:
    assert stage.serve(Request("alice", "app", 1), 990) == 0
    assert stage.serve(Request("alice", "app", 2), 20) == 1000
    assert stage.serve(Request("alice", "another"), 20) == 0
    stage.clock.advance(10_090)
    assert stage.serve(Request("alice", "app", 3), 0) == 10


def test_time_is_not_counted_for_a_request_that_another_is_answered_with(stage: Stage) -> None:
    waiting, running = Request("alice", "waiting"), Request("bob", "running")
    stage.times.begin(running)
    stage.watch.spend(5_000)
    assert stage.times.charge(waiting) == 0
    assert stage.times.charge(running) == 1000


def test_what_is_done_after_the_answer_is_counted_with_the_next(stage: Stage) -> None:
    first = Request("alice", "app", 1)
    stage.times.begin(first)
    assert stage.times.charge(first) == 0
    stage.watch.spend(2_000)
    stage.times.end(first)
    assert stage.serve(Request("alice", "app", 2), 0) == 1000


def test_only_what_work_does_is_counted_and_not_what_it_waits_for(stage: Stage) -> None:
    async def main() -> None:
        opened = asyncio.Event()

        async def work() -> None:
            stage.watch.spend(300)
            await opened.wait()
            stage.watch.spend(300)

        async def open_late() -> None:
            stage.watch.spend(60_000)
            opened.set()

        async def timed() -> None:
            await Timed(stage.times, Request("alice", "app"), work())

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(timed())
            tasks.create_task(open_late())

    asyncio.run(main())
    assert stage.serve(Request("alice", "app"), 390) == 0
    assert stage.serve(Request("alice", "app"), 20) == 1000


def test_work_that_is_cancelled_hears_of_it(stage: Stage) -> None:
    async def main() -> list[str]:
        heard: list[str] = []
        begun = asyncio.Event()

        async def work() -> None:
            try:
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        async def timed() -> None:
            await Timed(stage.times, Request("alice", "app"), work())

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(timed())
            await begun.wait()
            task.cancel()
        return heard

    assert asyncio.run(main()) == ["cancelled"]


def test_what_work_raises_is_raised(stage: Stage) -> None:
    async def work() -> None:
        raise ValueError("no")

    async def main() -> None:
        await Timed(stage.times, Request("alice", "app"), work())

    with pytest.raises(ValueError, match="no"):
        asyncio.run(main())
