"""Partitions that move from one log directory of this node into another, while they are written and read.

In the last step, appends to the partition are taken and not acknowledged. Everything that waits for the disk is done by
threads, and others are served meanwhile:

    1. what is left is copied, the future log is synced
       crash: the move goes on
    2. the metadata names the new directory
       crash: the future log counts; it has all that is acknowledged
    3. what came meanwhile is copied, the logs are exchanged, the old directory is renamed to `-delete`, which is synced
       crash: the future log counts; it is the only one
    4. the new directory gets the partition's name, which is synced; then all that was appended is acknowledged

So whoever starts next, Apache Kafka too, loses nothing. Before metadata.version 3.7 the metadata cannot name a
directory. Then the new directory gets its name first: after a crash, of two with that name the longer log counts.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.refusal import raise_refusal
from odradek.controller.controller import Controller
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.controller.errors import InvalidReplicaAssignment
from odradek.metadata.features import DIRECTORIES
from odradek.metadata.image import Image
from odradek.metadata.uuids import from_text, to_text
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, InvalidTopic, StorageFailed, UnknownTopicOrPartition
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs
from odradek.storage.move import Ended, Move, Spend
from odradek.storage.names import NAME_MAX, Mark, marked_dir_name
from odradek.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)

logger = logging.getLogger(__name__)

_ID_LENGTH = 32


class LogDirNotFound(BrokerError):
    code = ErrorCode.LOG_DIR_NOT_FOUND


class ReplicaNotAvailable(BrokerError):
    code = ErrorCode.REPLICA_NOT_AVAILABLE


class MoveLimits(NamedTuple):
    """What the settings allow."""

    spend: Spend
    threads: Callable[[], int]
    """How many partitions move at a time."""


class Moves:
    def __init__(
        self,
        broker: Broker,
        logs: LogDirs,
        controller: Controller,
        broker_epoch: int,
        pool: Executor,
        limits: MoveLimits,
    ) -> None:
        self._broker = broker
        self._logs = logs
        self._controller = controller
        self._broker_epoch = broker_epoch
        self._pool = pool
        self._limits = limits
        self._waiting: asyncio.Queue[TopicPartition] = asyncio.Queue()
        """A partition that was sent elsewhere while it waited is in it twice."""
        self._under_way: set[TopicPartition] = set()
        """Partitions that are moving: one move of a partition at a time, since acknowledgements are held for one."""

    # --- at a start

    async def settle(self, image: Image) -> None:
        """Before partitions are led: what moves were in when the node ended. Those that can go on do so with `run`.

        Where the metadata names the new directory, what lies there counts, unless it is less than what lies in the old
        one: Apache Kafka names it before it has everything.
        """
        for log_dir in self._logs.dirs:
            for where, future in list(log_dir.future_logs.items()):
                await self._settle(image, where, future, log_dir)

    async def _settle(self, image: Image, where: TopicPartition, future: Log, log_dir: LogDir) -> None:
        topic = image.topics.get(where.topic)
        if topic is None or where.partition not in topic.partitions or future.topic_id not in (None, to_text(topic.id)):
            kept = self._logs.set_aside_future(where)
            logger.warning("a move of no known partition was set aside", extra={"directory": kept})
            return
        log = self._logs.get(where)
        replicas = topic.partitions[where.partition]
        named = dict(zip(replicas.replicas, replicas.directories, strict=True)).get(self._broker.node_id)
        if named is not None and named == _id_of(log_dir):
            if log is None or log.end_offset <= future.end_offset:
                self._logs.take_future(where)
                logger.info("a move that was almost done is done", extra={"partition": str(where), "to": log_dir.path})
                return
            await self._assign(where, log.log_dir)
        if log is not None:
            self._waiting.put_nowait(where)

    # --- asked for

    async def begin(self, where: TopicPartition, path: str) -> None:
        """Move a partition into the directory at this path, or have it made there if it is still to come.

        Instead of where it may be on its way to; in the directory that it is in, it stays. Raises InvalidTopic,
        LogDirNotFound, StorageFailed, InvalidReplicaAssignment, ReplicaNotAvailable or UnknownTopicOrPartition.
        """
        if len(marked_dir_name(where, "0" * _ID_LENGTH, Mark.FUTURE)) > NAME_MAX:
            raise InvalidTopic(f"the name of {where} is too long for a directory that is to become another")
        log_dir = self._find(path)
        log = self._log_of(where)
        if log is None:
            self._logs.prefer(where, log_dir.path)
            topic = self._broker.image.topics.get(where.topic)
            if topic is not None and where.partition in topic.partitions:
                raise ReplicaNotAvailable(f"{where} is not on this broker")
            raise UnknownTopicOrPartition(where.topic, where.partition)
        log.log_dir.check_online()
        while self._is_to_be_made(where, log, log_dir):
            unsynced = [each for each in self._logs.dirs if each.has_unsynced_names and each.online]
            if not unsynced:
                self._logs.create_future(where, log.topic_id or "", log_dir.path)
                self._waiting.put_nowait(where)
                return
            for each in unsynced:  # a future log that power loss brings back beside the new one stops Apache Kafka
                await self._in_thread(each.sync_names)

    def _is_to_be_made(self, where: TopicPartition, log: Log, log_dir: LogDir) -> bool:
        """Whether the partition needs a future log in a directory. One in another directory is deleted."""
        future = self._logs.future_of(where)
        if future is not None and future.log_dir is not log_dir:
            self._logs.delete_future(where)
            future = None
        return future is None and log.log_dir is not log_dir and self._log_of(where) is log

    def _find(self, path: str) -> LogDir:
        found = next((each for each in self._logs.dirs if os.path.abspath(each.path) == path), None)
        if found is None:
            if path in map(os.path.abspath, self._logs.unusable):
                raise StorageFailed(f"log directory {path} is offline")
            raise LogDirNotFound(f"there is no log directory {path}")
        found.check_online()
        me = self._broker.image.brokers.get(self._broker.node_id)
        if me is not None and _id_of(found) in (me.cordoned_directories or ()):
            raise InvalidReplicaAssignment(f"log directory {path} takes no new replicas")
        return found

    def _log_of(self, where: TopicPartition) -> Log | None:
        try:
            return self._broker.partition(*where).log
        except UnknownTopicOrPartition:
            return None

    # --- under way

    async def run(self) -> None:
        """Until cancelled."""
        turns = asyncio.Semaphore(max(self._limits.threads(), 1))
        async with asyncio.TaskGroup() as tasks:
            while True:
                where = await self._waiting.get()
                tasks.create_task(self._move(where, turns), name=f"move {where}")

    async def _move(self, where: TopicPartition, turns: asyncio.Semaphore) -> None:
        async with turns:
            log, future = self._logs.get(where), self._logs.future_of(where)
            if log is None or future is None or where in self._under_way:
                return
            self._under_way.add(where)
            fields = {"partition": str(where), "from": log.log_dir.path, "to": future.log_dir.path}
            try:
                await self._carry(where, log, future)
                logger.info("a partition moved to another log directory", extra=fields)
                await self._checkpoint()
            except Ended:
                logger.info("a move was ended", extra=fields)
            except (BrokerError, OSError) as error:
                logger.error("a partition cannot be moved", extra={**fields, "reason": str(error)})
                self._give_up(where, future, error)
            finally:
                self._under_way.remove(where)
                if self._logs.future_of(where) not in (None, future):
                    self._waiting.put_nowait(where)  # it was sent elsewhere meanwhile

    def _give_up(self, where: TopicPartition, future: Log, error: BrokerError | OSError) -> None:
        """What goes wrong with a copy has nothing to do with what is served. A directory that failed is left alone."""
        if self._logs.future_of(where) is not future:
            return
        if future.log_dir.offline_reason is not None:
            self._logs.forget_future(where)
        elif not isinstance(error, StorageFailed):
            with suppress(StorageFailed):  # its directory failed now, and says so
                self._logs.delete_future(where)

    async def _carry(self, where: TopicPartition, log: Log, future: Log) -> None:
        def is_on() -> bool:
            return self._logs.get(where) is log and self._logs.future_of(where) is future

        move = Move(log, future, self._pool, is_on)
        await move.run(self._broker.flusher, self._limits.spend)
        self._broker.flusher.hold(log)
        finishing = asyncio.get_running_loop().create_task(self._finish(where, move), name=f"finish move {where}")
        try:
            await asyncio.shield(finishing)
        except asyncio.CancelledError:
            # The metadata may name the new directory by now: it must have all that is acknowledged from here on.
            await asyncio.wait([finishing])
            raise
        finally:
            self._broker.flusher.release(log)

    async def _finish(self, where: TopicPartition, move: Move) -> None:
        """The last step, with acknowledgements held."""
        log, target = move.log, move.future.log_dir
        await move.catch_up()
        await asyncio.shield(self._broker.flusher.request(move.future))
        move.check()
        if log.starts_inside:  # nothing else tells where it starts
            await self._in_thread(partial(target.store_checkpoints, target.changed_checkpoints()))
        is_assigned = await self._assign(where, target)
        try:
            move.check()
            await move.catch_up()
        except Ended:
            if is_assigned and self._logs.get(where) is log:
                await self._assign(where, log.log_dir)
            raise
        await self._exchange(where, is_assigned=is_assigned)

    async def _exchange(self, where: TopicPartition, *, is_assigned: bool) -> None:
        """The future log's files become those of the partition's own log, whose old ones are deleted.

        `is_assigned` says that the metadata names the new directory. Then the old one goes first, as with two of one
        name Apache Kafka would not start. Without that, only the names tell which counts, so the new one comes first.
        """
        log, old = self._logs.exchange_future(where)
        if is_assigned:
            self._logs.discard(old)
            await self._in_thread(old.log_dir.sync_names)  # power loss must not bring the old name back beside the new
            if self._logs.get(where) is log:  # else it was deleted meanwhile
                self._logs.give_final_name(log)
                await self._in_thread(log.log_dir.sync_names)
        else:
            self._logs.give_final_name(log)  # crash from here on: of two with this name, the longer counts
            await self._in_thread(log.log_dir.sync_names)
            self._logs.discard(old)

    async def _assign(self, where: TopicPartition, log_dir: LogDir) -> bool:
        """Have the metadata name the directory; False where it has no names for directories."""
        image = self._broker.image
        topic, directory = image.topics.get(where.topic), _id_of(log_dir)
        if image.metadata_version < DIRECTORIES or directory is None or topic is None:
            return False
        moved = TopicData(topic_id=topic.id, partitions=(PartitionData(partition_index=where.partition),))
        request = AssignReplicasToDirsRequest(
            broker_id=self._broker.node_id,
            broker_epoch=self._broker_epoch,
            directories=(DirectoryData(id=directory, topics=(moved,)),),
        )
        response = await self._controller.ask(request, ControllerRequestContext(version=0))
        assert isinstance(response, AssignReplicasToDirsResponse)
        raise_refusal(response.error_code)
        raise_refusal(response.directories[0].topics[0].partitions[0].error_code)
        return True

    async def _checkpoint(self) -> None:
        for log_dir in list(self._logs.dirs):
            await self._in_thread(partial(log_dir.store_checkpoints, log_dir.changed_checkpoints()))

    async def _in_thread(self, work: Callable[[], object]) -> None:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._pool, work))


def _id_of(log_dir: LogDir) -> bytes | None:
    return from_text(log_dir.meta.directory_id) if log_dir.meta and log_dir.meta.directory_id else None
