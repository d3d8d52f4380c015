"""A node's logs and metadata on a disk in memory, for stories about partitions that move between its directories."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from typing import Any, NoReturn

from odradek.broker.broker import Broker
from odradek.broker.partitions.moves import MoveLimits, Moves
from odradek.broker.partitions.replicas import Replicas
from odradek.controller import brokers, topics
from odradek.controller.brokers import Registration
from odradek.controller.context import Context
from odradek.controller.service import ActiveController
from odradek.controller.topics import Doomed, NewTopic
from odradek.metadata.image import Endpoint, Image
from odradek.metadata.uuids import from_text, to_text
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.machine import Machine
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.opening import MetadataSetting
from odradek.quorum.publisher import MetadataListener
from odradek.server.identity import take_identity
from odradek.storage.flush import Flusher
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from odradek.storage.open_files import OpenFiles
from odradek.wire.schema import Message
from support.disk import Died, FaultyDisk
from support.logs import ORDERS, SMALL, append, setting, values
from support.metadata import a_publisher, commit_now
from support.pool import AtOncePool
from support.waiting import until

PATHS = ("/a", "/b", "/c")
NODE_ID = 1


async def _spend(_size: int) -> None:
    await asyncio.sleep(0)


def _run_at_once(work: Coroutine[Any, Any, None]) -> None:
    """What waits for nothing."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")


class _Log:
    """The metadata log of a stage, as the controller uses it."""

    def __init__(self, stage: "MoveStage") -> None:
        self._stage = stage

    @property
    def latest(self) -> Image:
        return self._stage.metadata.latest

    async def commit(self, records: Sequence[Message]) -> Image:
        if self._stage.has_started:
            return await self._stage.metadata.commit(records)
        return commit_now(self._stage.metadata, records) if records else self.latest


class _NoQuotas:
    def account(self, _client: object, *, is_strict: bool) -> NoReturn:
        raise AssertionError(f"no client asks: {is_strict=}")


async def _no_hosts(hosts: frozenset[str]) -> frozenset[str]:
    return frozenset() & hosts


class MoveStage:
    """A node that has started on the disk, and leads what it found there."""

    def __init__(self, disk: FaultyDisk, config: TopicConfig = SMALL, pool: Executor | None = None) -> None:
        self.disk = disk
        self.has_started = False
        """Before, what is committed is synced at once: there may be no loop yet."""
        pool = AtOncePool() if pool is None else pool  # an empty one of another kind is false
        machine = Machine(files=disk, clock=disk.clock)
        identity = take_identity(machine, PATHS, NODE_ID)
        self.logs = LogDirs.take(OpenFiles(disk), list(PATHS), setting(config, disk.clock))
        publisher = a_publisher()
        self.metadata = MetadataLog.open(self.logs.dirs[0], MetadataSetting(node_id=NODE_ID), pool, publisher)
        ids = [each.meta.directory_id for each in self.logs.dirs if each.meta]
        registration = Registration(
            NODE_ID, machine.new_uuid(), {"PLAINTEXT": Endpoint("h", 1)}, tuple(from_text(each) for each in ids if each)
        )
        self._context = Context(machine.new_uuid)
        decision = brokers.register(self.metadata.latest, registration, self._context)
        commit_now(self.metadata, decision.records)
        self._epoch = decision.response
        self.logs.load()
        self.broker = Broker(NODE_ID, identity.cluster_id, Flusher(pool))
        commit_now(self.metadata, brokers.unfence(self.metadata.latest, NODE_ID, self._epoch, self._context).records)
        controller = ActiveController(
            log=_Log(self), context_of=lambda _: self._context, mutations=_NoQuotas(), unknown_hosts=_no_hosts
        )
        self.broker.begin(self.metadata.image)
        self.moves = Moves(self.broker, self.logs, controller, self._epoch, pool, MoveLimits(_spend, lambda: 2))
        _run_at_once(self.moves.settle(self.metadata.image))
        self.has_started = True
        replicas = Replicas(self.broker, self.logs, disk.clock)
        listeners = [
            MetadataListener("metadata cache", self.broker.change, self.broker.begin),
            MetadataListener("replicas", replicas.change, replicas.begin),
        ]
        publisher.begin(listeners, self.metadata.image)

    @property
    def image(self) -> Image:
        return self.metadata.image

    def create(self, name: str = "orders") -> Log:
        """A topic of one partition, in /a."""
        self.logs.prefer(TopicPartition(name, 0), "/a")
        decision = topics.create(self.metadata.latest, [NewTopic(name, 1)], self._context)
        commit_now(self.metadata, decision.records)
        return self.log(TopicPartition(name, 0))

    def delete(self, name: str = "orders") -> None:
        commit_now(self.metadata, topics.delete(self.metadata.latest, [Doomed(name)], self._context).records)

    def log(self, where: TopicPartition = ORDERS) -> Log:
        return self.broker.partition(*where).log

    def fill(self, first: int, end: int, where: TopicPartition = ORDERS) -> None:
        """Numbers as values, a batch each."""
        log = self.log(where)
        for number in range(first, end):
            append(log, f"{number:04d}", epoch=log.epochs.latest)
            log.advance_high_watermark(log.end_offset)

    def numbers(self, where: TopicPartition = ORDERS) -> list[int]:
        return [int(value) for value in values(self.log(where))]

    def place(self, where: TopicPartition = ORDERS) -> str:
        """The log directory that the partition is in."""
        return self.log(where).log_dir.path

    def named(self, where: TopicPartition = ORDERS) -> str | None:
        """The log directory that the metadata names."""
        topic = self.image.topics.get(where.topic)
        assert topic is not None
        (directory,) = topic.partitions[where.partition].directories
        found = {each.meta.directory_id: each.path for each in self.logs.dirs if each.meta}
        return found.get(to_text(directory))

    async def run_moves(self, condition: Callable[[], object] | None = None) -> None:
        """Until the condition holds, or else until nothing moves any more."""
        running = asyncio.get_running_loop().create_task(self.moves.run())
        try:
            await until(lambda: running.done() or (condition or self._is_quiet)())
        finally:
            running.cancel()
            await asyncio.wait([running])
            error = None if running.cancelled() else running.exception()
        if isinstance(error, BaseExceptionGroup) and error.subgroup(Died):
            raise Died
        if error is not None:
            raise error

    def _is_quiet(self) -> bool:
        return not self.moves._under_way and not any(each.future_logs for each in self.logs.dirs)

    def begin(self, path: str, where: TopicPartition = ORDERS) -> None:
        """A move that goes on with `run_moves`; outside of a loop."""
        asyncio.run(self.moves.begin(where, path))

    async def move(self, path: str, where: TopicPartition = ORDERS) -> None:
        """From its beginning to its end."""
        await self.moves.begin(where, path)
        await self.run_moves()

    def close(self) -> None:
        commit_now(self.metadata, brokers.shut_down(self.metadata.latest, NODE_ID, self._epoch, self._context).records)
        self.metadata.close()
        self.logs.close(self._epoch)
