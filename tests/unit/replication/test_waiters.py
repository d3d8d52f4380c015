"""Who waits for a partition to settle: the order in which they hear, and that none is lost."""

import asyncio
from collections.abc import Callable, Mapping
from functools import wraps

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, StorageFailed
from odradek.model.numbers import Offset
from odradek.replication.waiters import Unsettled, Wait, Waiters, wait_for
from support.failures import collected
from support.virtual_time import run as run_in_virtual_time


class Listening:
    def __init__(self, heard: list[str], name: str) -> None:
        self._heard = heard
        self._name = name

    def settled(self) -> None:
        self._heard.append(self._name)

    def failed(self, error: BrokerError) -> None:
        self._heard.append(f"{self._name}: {error}")


class Broken(Listening):
    def settled(self) -> None:
        raise ValueError("a bug")

    def failed(self, error: BrokerError) -> None:
        raise ValueError("a bug")


class Reading:
    def __init__(self) -> None:
        self.heard = 0
        self.has_ended = False

    def arrived(self, size: int) -> None:
        self.heard += size

    def end(self) -> None:
        self.has_ended = True


def in_virtual_time(test: Callable[[], object]) -> Callable[[], None]:
    @wraps(test)
    def play() -> None:
        run_in_virtual_time(test())  # type: ignore[arg-type]

    return play


async def others() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


@in_virtual_time
async def test_waiters_hear_in_their_order_and_not_within_the_append() -> None:
    waiters, heard = Waiters(), list[str]()
    for offset, name in ((1, "a"), (2, "b"), (2, "c"), (3, "d")):
        waiters.add(Offset(offset), Listening(heard, name))
    waiters.settle(Offset(2), 100)
    assert heard == []
    await others()
    assert heard == ["a", "b", "c"]
    waiters.settle(Offset(3), 100)
    await others()
    assert heard == ["a", "b", "c", "d"]
    assert not waiters.offsets


@in_virtual_time
async def test_one_who_asks_for_an_older_offset_waits_for_those_before_him() -> None:
    waiters, heard = Waiters(), list[str]()
    waiters.add(Offset(5), Listening(heard, "new"))
    waiters.add(Offset(3), Listening(heard, "sent again"))
    waiters.settle(Offset(4), 1)
    await others()
    assert heard == []
    waiters.settle(Offset(5), 1)
    await others()
    assert heard == ["new", "sent again"]


@in_virtual_time
async def test_one_that_fails_does_not_take_the_others_along() -> None:
    waiters, heard = Waiters(), list[str]()
    with collected() as reported:
        for _ in range(2):
            waiters.add(Offset(1), Broken(heard, "broken"))
            waiters.add(Offset(1), Listening(heard, "whole"))
        waiters.settle(Offset(1), 1)
        await others()
        assert heard == ["whole", "whole"]
        waiters.add(Offset(2), Broken(heard, "broken"))
        waiters.add(Offset(2), Listening(heard, "whole"))
        waiters.fail(StorageFailed("the disk"))
        await others()
    assert heard[2:] == ["whole: the disk"]
    assert len(reported) == 3
    assert all("ValueError: a bug" in each for each in reported)


@in_virtual_time
async def test_all_hear_that_the_partition_is_gone() -> None:
    waiters, heard, reading = Waiters(), list[str](), Reading()
    waiters.readers[reading] = None
    waiters.add(Offset(1), Listening(heard, "a"))
    waiters.fail(StorageFailed("the disk"))
    await others()
    assert (heard, reading.has_ended, len(waiters.offsets)) == (["a: the disk"], True, 0)


@in_virtual_time
async def test_readers_hear_of_all_bytes_until_they_leave() -> None:
    waiters, reading = Waiters(), Reading()
    waiters.readers[reading] = None
    waiters.settle(Offset(1), 10)
    waiters.settle(Offset(2), 20)
    del waiters.readers[reading]
    waiters.settle(Offset(3), 40)
    assert reading.heard == 30


class Story:
    """Two partitions, and one who waits for both."""

    def __init__(self, timeout_ms: int | None = None) -> None:
        self.first, self.second = Waiters(), Waiters()
        self.outcomes: list[dict[str, ErrorCode]] = []
        self.unsettled = {"first": Unsettled(self.first, Offset(1)), "second": Unsettled(self.second, Offset(7))}
        self.wait = Wait(self.unsettled, self._done, timeout_ms)

    def _done(self, errors: Mapping[str, BrokerError]) -> None:
        self.outcomes.append({key: error.code for key, error in errors.items()})

    @property
    def are_waited_for(self) -> bool:
        return bool(self.first.offsets or self.second.offsets)


@in_virtual_time
async def test_several_partitions_are_waited_for() -> None:
    story = Story(timeout_ms=100)
    story.second.settle(Offset(9), 1)
    await others()
    assert story.outcomes == []
    story.first.settle(Offset(1), 1)
    await asyncio.sleep(1)
    assert story.outcomes == [{}]


@in_virtual_time
async def test_one_of_several_partitions_that_fails_is_named() -> None:
    story = Story()
    story.first.fail(StorageFailed("the disk"))
    story.second.settle(Offset(7), 1)
    await others()
    assert story.outcomes == [{"first": ErrorCode.KAFKA_STORAGE_ERROR}]


@in_virtual_time
async def test_those_that_are_late_are_named_and_waited_for_no_more() -> None:
    story = Story(timeout_ms=100)
    story.first.settle(Offset(1), 1)
    await asyncio.sleep(0.099)
    assert story.outcomes == []
    await asyncio.sleep(0.002)
    assert story.outcomes == [{"second": ErrorCode.REQUEST_TIMED_OUT}]
    assert not story.are_waited_for
    story.second.settle(Offset(7), 1)
    await others()
    assert len(story.outcomes) == 1


@in_virtual_time
async def test_one_who_leaves_hears_nothing() -> None:
    story = Story(timeout_ms=100)
    story.first.settle(Offset(1), 1)
    story.wait.cancel()  # what was settled is on its way already
    await asyncio.sleep(1)
    assert story.outcomes == []
    assert not story.are_waited_for


@in_virtual_time
async def test_a_task_may_wait_too() -> None:
    waiters = Waiters()
    waiting = asyncio.ensure_future(wait_for({0: Unsettled(waiters, Offset(1))}))
    await others()
    assert not waiting.done()
    waiters.settle(Offset(1), 1)
    assert await waiting == {}
    assert await wait_for({}) == {}


@in_virtual_time
async def test_one_who_comes_when_it_is_settled_hears_all_the_same() -> None:
    waiters, heard = Waiters(), list[str]()
    waiters.settle(Offset(3), 1)
    waiters.add(Offset(3), Listening(heard, "late"))
    assert heard == []
    await others()
    assert heard == ["late"]


@in_virtual_time
async def test_one_who_comes_when_nothing_settles_any_more_hears_why() -> None:
    waiters, heard = Waiters(), list[str]()
    waiters.fail(StorageFailed("the disk"))
    waiters.add(Offset(3), Listening(heard, "late"))
    await others()
    assert heard == ["late: the disk"]
    assert not waiters.offsets
