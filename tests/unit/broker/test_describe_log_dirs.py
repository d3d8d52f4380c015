"""What is told of log directories while partitions move between them."""

import asyncio
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest

from odradek.broker.handlers.describe_log_dirs import DescribeLogDirs
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import ORDERS
from support.move_stage import MoveStage
from support.pool import ManualPool
from support.waiting import until

if TYPE_CHECKING:
    from concurrent.futures import Future

LIMIT_S = 60


class Spaces(ManualPool):
    """Is asked for the space in directories of a disk in memory, and tells of a real one."""

    def submit(self, _fn: Callable[..., Any], /, *_args: Any, **_kwargs: Any) -> "Future[Any]":
        return super().submit(shutil.disk_usage, "/")


def places(told: DescribeLogDirsResponse) -> list[tuple[str, bool]]:
    """Where the partition is, and whether that is a copy that is made."""
    return [
        (each.log_dir, part.is_future_key)
        for each in told.results
        for topic in each.topics
        for part in topic.partitions
        if topic.name == ORDERS.topic
    ]


@pytest.mark.parametrize(("first", "then"), [("/a", "/b"), ("/b", "/a")])
def test_a_partition_that_moves_meanwhile_is_in_one_directory(first: str, then: str) -> None:
    """Whichever is looked at before the other."""
    stage, pool = MoveStage(FaultyDisk("/a", "/b", "/c", clock=ManualClock())), Spaces()
    stage.create()
    stage.fill(0, 10)
    handler = DescribeLogDirs(stage.broker, stage.logs, pool)

    async def story() -> list[tuple[str, bool]]:
        if first != stage.place():
            await stage.move(first)
        await stage.moves.begin(ORDERS, then)
        asked = asyncio.ensure_future(handler.handle(cast("Any", None), DescribeLogDirsRequest(topics=None)))
        await until(lambda: len(pool))
        pool.run_next()
        await until(lambda: len(pool))
        await stage.run_moves()
        while not asked.done():
            if len(pool):
                pool.run_next()
            await asyncio.sleep(0)
        return places(asked.result())

    async def main() -> list[tuple[str, bool]]:
        async with asyncio.timeout(LIMIT_S):
            return await story()

    assert asyncio.run(main()) == [(then, False)]
