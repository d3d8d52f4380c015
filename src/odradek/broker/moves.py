"""Partitions that move from one log directory of this node into another, while they are written and read.

The last step happens in one breath, with nobody served meanwhile: what is left is copied and synced, the metadata
gets a record that names the new directory, and the directories change places. Between that record and the new name
the partition's own log is complete under either name, so that whoever starts next, Apache Kafka too, loses nothing.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

from odradek.broker.broker import Broker
from odradek.controller import directories
from odradek.controller.directories import InDirectory
from odradek.controller.errors import InvalidReplicaAssignment
from odradek.metadata.features import DIRECTORIES
from odradek.metadata.image import Image
from odradek.metadata.uuids import from_text, to_text
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, InvalidTopic, StorageFailed, UnknownTopicOrPartition
from odradek.model.topic_partition import TopicPartition
from odradek.quorum.metadata_log import MetadataLog
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs
from odradek.storage.move import Ended, Move, Spend
from odradek.storage.names import NAME_MAX, Mark, marked_dir_name

logger = logging.getLogger(__name__)

_ID_LENGTH = 32


class LogDirNotFound(BrokerError):
    code = ErrorCode.LOG_DIR_NOT_FOUND


class ReplicaNotAvailable(BrokerError):
    code = ErrorCode.REPLICA_NOT_AVAILABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What moves work with."""

    broker: Broker
    logs: LogDirs
    metadata: MetadataLog
    broker_epoch: int
    pool: Executor
    spend: Spend
    at_once: Callable[[], int]
    """How many partitions move at a time."""


class Moves:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._broker = ground.broker
        self._logs = ground.logs
        self._waiting: asyncio.Queue[TopicPartition] = asyncio.Queue()
        """A partition that was sent elsewhere while it waited is in it twice."""
        self._under_way: set[Log] = set()
        """Future logs that are being written to."""

    # --- at a start

    def settle(self, image: Image) -> None:
        """Before partitions are led: what moves were in when the node ended. Those that can go on do so with `run`.

        Where the metadata names the new directory, what lies there counts, unless it is less than what lies in the old
        one: Apache Kafka names it before it has everything.
        """
        for log_dir in self._logs.dirs:
            for where, future in list(log_dir.future_logs.items()):
                self._settle(image, where, future, log_dir)

    def _settle(self, image: Image, where: TopicPartition, future: Log, log_dir: LogDir) -> None:
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
            self._assign(where, self._dir_of(log))
        if log is not None:
            self._waiting.put_nowait(where)

    # --- asked for

    def begin(self, where: TopicPartition, path: str) -> None:
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
        future = self._logs.future_of(where)
        if future is not None and future.log_dir is not log_dir:
            self._logs.delete_future(where)
            future = None
        if future is None and log.log_dir is not log_dir:
            self._logs.create_future(where, log.topic_id or "", log_dir.path)
            self._waiting.put_nowait(where)

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
        turns = asyncio.Semaphore(max(self._ground.at_once(), 1))
        async with asyncio.TaskGroup() as tasks:
            while True:
                where = await self._waiting.get()
                tasks.create_task(self._move(where, turns), name=f"move {where}")

    async def _move(self, where: TopicPartition, turns: asyncio.Semaphore) -> None:
        async with turns:
            log, future = self._logs.get(where), self._logs.future_of(where)
            if log is None or future is None or future in self._under_way:
                return
            self._under_way.add(future)
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
                self._under_way.remove(future)

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

        move = Move(log, future, self._ground.pool, is_on)
        await move.run(self._broker.flusher, self._ground.spend)
        # From here on, nobody else has a turn.
        move.finish()
        target = self._dir_of(future)
        if log.starts_inside:
            target.write_checkpoints()  # nothing else tells where it starts
        future.sync()
        self._logs.promote_future(where, is_assigned=self._assign(where, target))

    def _assign(self, where: TopicPartition, log_dir: LogDir) -> bool:
        """Have the metadata name the directory; False where it has no names for directories."""
        image = self._ground.metadata.latest
        topic, directory = image.topics.get(where.topic), _id_of(log_dir)
        if image.metadata_version < DIRECTORIES or directory is None or topic is None:
            return False
        replica = InDirectory(topic.id, where.partition, directory)
        decision = directories.assign(image, self._broker.node_id, self._ground.broker_epoch, [replica])
        for outcome in decision.response:
            if outcome.error is not None:
                raise outcome.error
        self._ground.metadata.commit_now(decision.records)
        return True

    async def _checkpoint(self) -> None:
        loop = asyncio.get_running_loop()
        for log_dir in list(self._logs.dirs):
            changed = log_dir.changed_checkpoints()
            await asyncio.shield(loop.run_in_executor(self._ground.pool, log_dir.store_checkpoints, changed))

    def _dir_of(self, log: Log) -> LogDir:
        return log.log_dir


def _id_of(log_dir: LogDir) -> bytes | None:
    return from_text(log_dir.meta.directory_id) if log_dir.meta and log_dir.meta.directory_id else None
