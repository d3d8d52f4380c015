"""Keeps the partitions of this node in line with the metadata: logs are made, led, set aside and deleted."""

import logging

from odradek.broker.broker import Broker
from odradek.broker.partition import Partition
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image, ResourceType, Topic
from odradek.metadata.image import Partition as Placement
from odradek.metadata.uuids import to_text
from odradek.model.clock import Clock
from odradek.model.errors import StorageFailed
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log_dirs import LogDirs

logger = logging.getLogger(__name__)


class Replicas:
    def __init__(self, broker: Broker, logs: LogDirs, clock: Clock) -> None:
        self._broker = broker
        self._logs = logs
        self._clock = clock

    def begin(self, image: Image) -> None:
        """At start: what is on disk and in no topic is set aside, what is in a topic and not on disk is made."""
        for log in list(self._logs):
            topic = image.topics.get(log.partition.topic)
            known = topic is not None and log.partition.partition in topic.partitions
            if not known or topic is None or log.topic_id not in (None, to_text(topic.id)):
                kept = self._logs.set_aside(log.partition)
                logger.warning("a partition of no known topic was set aside", extra={"directory": kept})
        self._broker.image = image
        for topic in image.topics:
            for number, placement in topic.partitions.items():
                self._take(topic, number, placement)

    def change(self, delta: Delta, image: Image) -> None:
        """Told of every committed batch of metadata."""
        self._broker.image = image
        for topic in delta.topics.deleted:
            for number in topic.partitions:
                self._drop(TopicPartition(topic.name, number))
        for topic in delta.topics.created:
            for number, placement in topic.partitions.items():
                self._take(topic, number, placement)
        for change in delta.topics.changed:
            for number in change.partitions:
                self._take(change.after, number, change.after.partitions[number])
        self._update_configs(delta, image)

    def _update_configs(self, delta: Delta, image: Image) -> None:
        kinds = {resource.type for resource in delta.configs.changed}
        if ResourceType.BROKER in kinds:  # it may be the default of every topic
            for topic in image.topics:
                self._logs.update_config(topic.name)
            return
        for resource in delta.configs.changed:
            if resource.type == ResourceType.TOPIC:
                self._logs.update_config(resource.name)

    def _take(self, topic: Topic, number: int, placement: Placement) -> None:
        """Lead the partition, if it is ours to lead."""
        where = TopicPartition(topic.name, number)
        if placement.leader != self._broker.node_id:
            self._broker.partitions.pop(where, None)
            return
        try:
            log = self._logs.get(where) or self._logs.create(where, to_text(topic.id))
            log.assign_epoch(placement.leader_epoch, log.end_offset)
            log.advance_high_watermark(log.end_offset)
        except StorageFailed as error:
            logger.error("a partition cannot be led", extra={"partition": str(where), "reason": str(error)})
            return
        known = self._broker.partitions.get(where)
        if known is not None and known.log is log:
            known.epoch = placement.leader_epoch
        else:
            self._broker.partitions[where] = Partition(log, placement.leader_epoch, self._clock)

    def _drop(self, where: TopicPartition) -> None:
        partition = self._broker.partitions.pop(where, None)
        if partition is not None:
            for fetch in (*partition.waiting, *partition.stable.waiting):
                fetch.end()
        if self._logs.get(where) is not None:
            try:
                self._logs.delete(where)
            except StorageFailed as error:
                logger.error("a partition cannot be deleted", extra={"partition": str(where), "reason": str(error)})
