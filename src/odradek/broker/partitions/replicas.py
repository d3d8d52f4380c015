"""Keeps the partitions of this node in line with the metadata: logs are made, led, set aside and deleted.

To make a log takes half a dozen files. A few are made before anybody hears of their partitions; where there are more,
they follow some at a time, and one that is asked for meanwhile is made then.
"""

import asyncio
import logging
from collections.abc import Iterator

from odradek.broker.broker import Broker
from odradek.broker.partitions.partition import Partition
from odradek.metadata.delta import Delta
from odradek.metadata.image import NO_LEADER, Image, Topic
from odradek.metadata.uuids import to_text
from odradek.model.clock import Clock
from odradek.model.errors import NotLeaderOrFollower, StorageFailed, UnknownTopicOrPartition
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log_dirs import LogDirs

logger = logging.getLogger(__name__)

_AT_ONCE = 10
"""Some milliseconds. File systems need ten times as long to make a file where many were just deleted (ext4)."""
_TURN_S = 0.002
"""Then the others have theirs."""


class Replicas:
    def __init__(self, broker: Broker, logs: LogDirs, clock: Clock) -> None:
        self._broker = broker
        self._logs = logs
        self._clock = clock
        self._due: dict[TopicPartition, Topic] = {}
        """Partitions that are ours to lead and have no log yet."""
        self._is_fenced = False
        self._is_due = asyncio.Event()
        broker.make = self._make

    def begin(self, image: Image) -> None:
        """At start: what is on disk and in no topic is set aside, what is in a topic and not on disk is made.

        While a directory cannot be used, nothing is made: it may be there. Whatever was written to a new log would be
        hidden when the directory comes back, or hide what is in it.
        """
        for log in list(self._logs):
            topic = image.topics.get(log.partition.topic)
            known = topic is not None and log.partition.partition in topic.partitions
            if not known or topic is None or log.topic_id not in (None, to_text(topic.id)):
                kept = self._logs.set_aside(log.partition)
                logger.warning("a partition of no known topic was set aside", extra={"directory": kept})
        if self._logs.unusable or not all(each.online for each in self._logs.dirs):
            self._broker.offline = frozenset(self._without_log(image))
            if self._broker.offline:
                fields = {"count": len(self._broker.offline)}
                logger.error("partitions may be in a log directory that cannot be used", extra=fields)
        self._is_fenced = self._fenced_in(image)
        if not self._is_fenced:
            self._begin_to_lead(image)

    def _begin_to_lead(self, image: Image) -> None:
        """All that is ours to lead. The broker has just been unfenced, and serves nobody yet."""
        for topic in image.topics:
            for number in topic.partitions:
                self._take(topic, number)
        self.make_all()

    def _without_log(self, image: Image) -> Iterator[TopicPartition]:
        """Partitions that this node leads, or may come to lead when it is unfenced."""
        for topic in image.topics:
            for number, partition in topic.partitions.items():
                where = TopicPartition(topic.name, number)
                if partition.leader in (self._broker.node_id, NO_LEADER) and self._logs.get(where) is None:
                    yield where

    def _fenced_in(self, image: Image) -> bool:
        me = image.brokers.get(self._broker.node_id)
        return me is not None and me.fenced

    def change(self, delta: Delta, image: Image) -> None:
        """Told of every committed batch of metadata."""
        was_fenced, self._is_fenced = self._is_fenced, self._fenced_in(image)
        if was_fenced and not self._is_fenced:
            self._begin_to_lead(image)
            return
        for topic in delta.topics.deleted:
            for number in topic.partitions:
                self._drop(TopicPartition(topic.name, number))
        for topic in delta.topics.created:
            for number in topic.partitions:
                self._take(topic, number)
        for change in delta.topics.changed:
            for number in change.partitions:
                self._take(change.after, number)
        if len(self._due) <= _AT_ONCE:
            self.make_all()
        else:
            self._is_due.set()

    async def run(self) -> None:
        """Makes logs that are still to be made, until cancelled."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            while self._due:
                until = self._clock.monotonic_s() + _TURN_S
                while self._due and self._clock.monotonic_s() < until:
                    self._make(next(iter(self._due)))
                await asyncio.sleep(0)

    def make_all(self) -> None:
        """At once; of many only when a node starts, or stops."""
        for where in list(self._due):
            self._make(where)

    def _take(self, topic: Topic, number: int) -> None:
        """Lead the partition, if it is ours to lead; without a log it is due. A fenced broker leads nothing."""
        where = TopicPartition(topic.name, number)
        if self._is_fenced or topic.partitions[number].leader != self._broker.node_id:
            self._due.pop(where, None)
            partition = self._broker.partitions.pop(where, None)
            if partition is not None:
                partition.fail(NotLeaderOrFollower(f"{where} is led here no more"))
            return
        if where in self._broker.offline:
            return
        self._due[where] = topic
        if self._logs.get(where) is not None:
            self._make(where)

    def _make(self, where: TopicPartition) -> Partition | None:
        """Lead a partition that is due, with a new log if it has none; None for any other.

        Where the disk fails, it is offline with its directory.
        """
        topic = self._due.pop(where, None)
        if topic is None:
            return None
        where = TopicPartition(*where)  # it may be a plain tuple, which is not to be kept
        epoch = topic.partitions[where.partition].leader_epoch
        known = self._broker.partitions.get(where)
        try:
            log = self._logs.get(where) or self._logs.create(where, to_text(topic.id))
            log.assign_epoch(epoch, log.end_offset)
            if known is None or known.log is not log:
                if log.durable_end < log.end_offset and not log.is_held:
                    log.sync()  # after a crash the end may not be durable, and readers had seen some of it
                known = self._broker.partitions[where] = Partition(log, epoch, self._clock, self._broker.flusher)
        except StorageFailed as error:
            # Not to be made in another directory: what was begun would be of the same name when this one is back.
            self._broker.offline |= {where}
            logger.error("a partition cannot be led", extra={"partition": str(where), "reason": str(error)})
            return None
        known.epoch = epoch
        return known

    def _drop(self, where: TopicPartition) -> None:
        self._due.pop(where, None)
        self._broker.offline -= {where}
        partition = self._broker.partitions.pop(where, None)
        if partition is not None:
            partition.fail(UnknownTopicOrPartition(where.topic, where.partition))
        if self._logs.get(where) is not None:
            try:
                self._logs.delete(where)
            except StorageFailed as error:
                logger.error("a partition cannot be deleted", extra={"partition": str(where), "reason": str(error)})
