"""A real node on a simulated machine: started, stopped and killed, and started again on the disk that it left.

It dies between two events, or in the middle of a change of its disk: between any two records that it writes, then. What
the next one begins with is the disk alone.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from odradek.model.errors import OdradekError, StorageFailed
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process import guard
from odradek.process.machine import Machine
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from support.disk import Died, FaultyDisk
from support.sim.events import Events, SimClock
from support.sim.line import NODE, PORT
from support.sim.loop import SimLoop, SimPool
from support.sim.streams import SimNetwork
from support.sim.violations import Violation

if TYPE_CHECKING:
    from odradek.metadata.image import Image
    from odradek.model.broker_config import BrokerConfig
    from odradek.server.coordinators import Coordinators
    from odradek.storage.log import Log

DATA = "/data"
TOPIC_DEFAULTS = replace(TopicConfig(), segment_bytes=4_000, index_interval_bytes=200, segment_index_bytes=4096)
"""Small, so that logs have many segments, and snapshots of their producers."""
_JOB_MS_MAX = 8
_HANDLES = 4_096


class SimNode:
    def __init__(
        self, events: Events, rng: Random, network: SimNetwork, config: "BrokerConfig", topic_defaults: TopicConfig
    ) -> None:
        self._events = events
        self._rng = rng
        self.clock = SimClock(events)
        self.disk = FaultyDisk(DATA, clock=self.clock)
        self.host = network.host(NODE, self._enter)
        self._setting = NodeSetting(
            directories=[DATA], host=NODE, port=PORT, config=config, topic_defaults=topic_defaults
        )
        self._loop: SimLoop | None = None
        self._stop: asyncio.Event | None = None
        self._node: Node | None = None
        self._image: Image | None = None
        self.life = 0
        """Counts its starts."""
        self.job_ms_max = _JOB_MS_MAX
        """What a thread takes for a job, at most: a sync, or a read from the disk."""
        self.is_faulty = False
        """Whether its disk may fail, and the node end for that."""
        self.watched: Callable[[], None] = _nothing
        """Called after all that happens in it."""
        self.died: Callable[[str], None] = _nothing_more
        """Called with the reason when its process has ended."""
        self.note: Callable[[str], None] = _nothing_more
        """Gets the lines that it logs."""

    # --- what it is

    @property
    def is_up(self) -> bool:
        """Whether there is a process, which may still be starting."""
        return self._loop is not None

    @property
    def is_serving(self) -> bool:
        return self._node is not None

    @property
    def node(self) -> Node:
        assert self._node is not None
        return self._node

    @property
    def image(self) -> "Image":
        """What is committed, or was when it was last asked while the node was up."""
        image = self._image if self._node is None else self._node.metadata.image
        assert image is not None
        return image

    @property
    def coordinators(self) -> "Coordinators":
        return self.node.coordinators

    @property
    def logs(self) -> "Iterator[Log]":
        """None while it is not serving."""
        return iter(()) if self._node is None else iter(self._node.directories.logs)

    def log(self, partition: TopicPartition) -> "Log":
        found = self.node.directories.logs.get(partition)
        assert found is not None
        return found

    # --- its lives

    def start(self) -> None:
        """Some of what it reads is not in memory, so that loading takes a while."""
        assert self._loop is None
        self.life += 1
        self.host.is_dark = False
        if self._rng.random() < 0.5:
            self.disk.cold.update(path for path in self._paths() if path.endswith(".log"))
        self._loop = SimLoop(self._events, self._enter)  # type: ignore[abstract]  # what is left out nobody calls
        with self._loop.running():
            self._loop.create_task(self._serve(self.life), name="serve")

    def _paths(self) -> list[str]:
        return [f"{DATA}/{path}" for path in self.disk.tree(DATA)]

    def stop(self) -> None:
        """A clean stop begins."""
        if self._stop is not None:
            self._stop.set()

    def kill(self, how: str = "killed") -> None:
        """What it wrote is there, synced or not."""
        if self._loop is not None:
            self._end(how)
            self.disk.crash()
            self.died(how)

    def lose_power(self, how: str = "without power") -> None:
        """What it wrote and did not sync is lost, or some of it. Nobody hears from the machine until it is on again."""
        if self._loop is not None:
            self.host.is_dark = True
            self._end(how)
            self.disk.power_loss(self._rng)
            self.died(how)

    def _end(self, how: str) -> None:
        assert self._loop is not None
        loop, self._loop = self._loop, None
        if self._node is not None:
            self._image = self._node.metadata.image
        self._node = self._stop = None
        self.note(f"the node is {how}")
        self.host.reset()
        self.disk.die_at(0)  # what is cancelled writes nothing
        with loop.running():
            loop.end()

    async def _serve(self, life: int) -> None:
        """As `odradek serve` does."""
        failure: BaseException | None = None
        try:
            await self._run()
        except BaseException as error:  # noqa: BLE001 - nobody waits for this task
            failure = error
        self._events.after(0, partial(self._exit, life, failure))

    async def _run(self) -> None:
        stop = asyncio.Event()
        node = await Node.start(self._setting, self._machine(), stop.set)
        self._node, self._stop = node, stop
        self.note("the node serves")
        try:
            await stop.wait()
        finally:
            if self._node is node:
                self._image, self._node, self._stop = node.metadata.image, None, None
            await node.stop()
        if node.failure is not None:
            raise StorageFailed(node.failure)

    def _exit(self, life: int, failure: BaseException | None) -> None:
        """Its task is over, unless that was because the process is."""
        if self._loop is None or life != self.life:
            return
        if failure is not None:
            if not self.is_faulty or not _is_of_the_disk(failure):
                raise Violation("the node ended by itself") from failure
            self.note(f"the node gives up: {failure!r}")
        self.kill("gone")

    def _machine(self) -> Machine:
        return Machine(
            files=self.disk,
            clock=self.clock,
            random=Random(self._rng.getrandbits(64)),
            network=self.host,
            new_pool=lambda: SimPool(lambda: self._rng.randint(1, self.job_ms_max)),
            children=0,
            handles=lambda: _HANDLES,
        )

    def _enter(self, call: Callable[[], None]) -> None:
        if self._loop is None:
            return
        with self._loop.running(), suppress(Died):
            call()
        if self.disk.is_dead:
            self.kill("dead in a write")
        else:
            self.watched()


def new_id(rng: Random) -> str:
    """A UUID as text."""
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _is_of_the_disk(error: BaseException) -> bool:
    """Whether storage is all that failed."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_of_the_disk, error.exceptions))
    return isinstance(error, OdradekError | OSError)


class _Listening(logging.Handler):
    """Takes what is logged: what nobody expected ends the run."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Died) or (isinstance(error, BaseExceptionGroup) and error.subgroup(Died)):
            return
        if error is not None:
            raise error
        fields = {name: value for name, value in vars(record).items() if name not in _OWN}
        self._note(f"log: {record.getMessage()} {fields}")


_OWN = frozenset(vars(logging.makeLogRecord({})))


@contextmanager
def logged(note: Callable[[str], None]) -> Iterator[None]:
    """Lines of the log go to `note`, and nowhere else."""
    logger, handler = logging.getLogger("odradek"), _Listening(note)
    before, guards = (logger.propagate, logger.level), guard.logger.handlers
    guard.logger.handlers = []  # tests collect there what nobody expected; here it is raised
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate, logger.level = before
        guard.logger.handlers = guards


def _nothing() -> None:
    return


def _nothing_more(_how: str) -> None:
    return
