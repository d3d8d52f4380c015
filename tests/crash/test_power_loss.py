"""Power loss under a whole node, on a disk that forgets what was not synced.

ODRADEK_EXAMPLES=10 ./run test tests/crash/test_power_loss.py       ten times as many losses
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.process.clock import SystemClock
from odradek.process.machine import Machine
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.storage.verify import Finding, Severity, Verification
from support.disk import Died, FaultyDisk
from support.examples import examples
from support.ledger import Ledger, check
from support.load import Load, run_all, set_topic
from support.raw_client import RawClient
from support.running_node import create_topic

pytestmark = pytest.mark.slow

LOSSES = 4
"""Of the same disk, each with another part of what was not synced."""
CONFIG = replace(
    BrokerConfig(),
    log_flush_offset_checkpoint_interval_ms=20,
    log_retention_check_interval_ms=10,
    metadata_log_max_record_bytes_between_snapshots=1000,
    internal_metadata_log_segment_bytes=5000,
    metadata_max_retention_bytes=10_000,
)
SMALL = {"internal_segment_bytes": "20000", "index_interval_bytes": "500"}


class Life:
    """A node on a disk, from its start to its death."""

    def __init__(self, disk: FaultyDisk) -> None:
        self.died = asyncio.Event()
        self.unexpected: list[dict[str, Any]] = []
        self._disk = disk
        directories = [name for name in ("/data", "/more") if disk.exists(name)]
        self._setting = NodeSetting(directories=directories, port=0, config=CONFIG)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self._heard_of(context))

    def _heard_of(self, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), Died):
            self.died.set()
        else:
            self.unexpected.append(context)

    async def start(self) -> Node:
        return await Node.start(self._setting, Machine(files=self._disk, children=0))

    async def start_and_die(self) -> None:
        """Start, and let go of the node at once. Whoever waits for a thread that died in a start waits for ever."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._start_and_abandon()), loop.create_task(self.died.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        starting, _ = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(starting, Exception):
            raise starting
        self.died.clear()

    async def _start_and_abandon(self) -> None:
        with suppress(Died, BaseExceptionGroup):
            await (await self.start()).abandon()

    async def run(self, started: "asyncio.Future[int]") -> None:
        """Until it died: a task of its own, since tasks of a node that die take their owner with them."""
        node = await self.start()
        started.set_result(node.address[1])
        try:
            with suppress(asyncio.CancelledError):
                await self.died.wait()
        finally:
            self._disk.die_at(1)  # nothing more is written
            with suppress(Died, BaseExceptionGroup):
                await node.abandon()
            self.died.set()


async def work_and_die(disk: FaultyDisk, rng: Random) -> Ledger:
    life = Life(disk)
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    answers_left = rng.randrange(10, 150)

    def progress() -> None:
        nonlocal answers_left
        answers_left -= 1
        if answers_left == 0:
            life.died.set()

    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        node = tasks.create_task(life.run(started))
        port = await started
        await make_topics(port)
        disk.die_at(rng.randrange(1, 1500))
        load = Load(port, rng, progress)
        working = tasks.create_task(run_all(load))
        await life.died.wait()
        working.cancel()
        await node
    assert life.unexpected == []
    return load.ledger


async def make_topics(port: int) -> None:
    client = await RawClient.connect("127.0.0.1", port)
    codes = [
        await create_topic(client, "orders", 3, flush_messages="1", **SMALL),
        await create_topic(client, "aged", 2, retention_bytes="50000", file_delete_delay_ms="20", **SMALL),
        await create_topic(client, "cut", 1, flush_messages="1", **SMALL),
        await create_topic(client, "settings"),
    ]
    assert codes == [0, 0, 0, 0]
    await client.close()


async def check_all(disk: FaultyDisk, ledger: Ledger, rng: Random) -> str:
    """Starts a node on what is left, maybe after it died once more while it started."""
    life = Life(disk)
    if rng.random() < 0.3:
        disk.die_at(rng.randrange(1, 100))
        await life.start_and_die()
        disk.power_loss(rng)
    node = await life.start()
    client = await RawClient.connect(*node.address)
    async with asyncio.timeout(120):
        await set_topic(client, "aged", "retention.bytes", "-1")  # it must stand still to be checked
        told = await check(client, ledger, rng, may_end_early={"aged"})
    await client.close()
    await node.stop()
    assert life.unexpected == []
    return told


def test_what_was_synced_and_acknowledged_is_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "asyncio")
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    for number in range(examples(50)):
        disk = FaultyDisk(*("/data", "/more")[: rng.randint(1, 2)], clock=SystemClock())
        ledger = asyncio.run(work_and_die(disk, rng))
        for loss in range(LOSSES):
            left = disk.copy()
            left.power_loss(rng if loss else None)
            told = asyncio.run(check_all(left, ledger, rng))
            print(f"life {number}, loss {loss}: {told}")  # noqa: T201
            assert damage(left) == []


def damage(disk: FaultyDisk) -> list[Finding]:
    verification = Verification(disk)
    for name in ("/data", "/more"):
        if disk.exists(name):
            verification.add(name)
    return [each for each in verification.run() if each.severity is Severity.ERROR]
