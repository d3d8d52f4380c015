"""The coordinators of a node: their runtimes, and what these are given of the node."""

import os
from collections.abc import Iterator
from uuid import UUID

from odradek.broker.broker import Broker
from odradek.broker.groups import Groups
from odradek.broker.offsets_topic import OFFSETS_TOPIC
from odradek.broker.settings import Settings
from odradek.coordinators.groups.context import GroupContext
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.runtime import Runtime, Surroundings
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.group_config import GroupConfig
from odradek.records.batch import Codec
from odradek.wire.stored import CONSUMER_OFFSETS


class Coordinators:
    def __init__(self, broker: Broker, settings: Settings, node: Surroundings) -> None:
        self._broker = broker
        self._settings = settings
        self._clock = node.clock
        self._runtime: Runtime[GroupShard] = Runtime(CONSUMER_OFFSETS, self._partitions, self._new_shard, node)
        self.groups = Groups(self._runtime)

    def begin(self) -> None:
        """What this node leads is loaded, while it serves."""
        self._runtime.lead({number: self._broker.partition(OFFSETS_TOPIC, number) for number in self._led()})

    def change(self, delta: Delta, image: Image) -> None:
        """Told of every committed batch of metadata, after the partitions were."""
        topics = delta.topics
        changed = [*topics.created, *topics.deleted, *(change.after for change in topics.changed)]
        if any(topic.name == OFFSETS_TOPIC for topic in changed):
            self.begin()
        self._runtime.topics_changed(delta, image)

    def close(self) -> None:
        self._runtime.close()

    def _led(self) -> Iterator[int]:
        return (number for topic, number in self._broker.partitions if topic == OFFSETS_TOPIC)

    def _partitions(self) -> int:
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        return len(topic.partitions) if topic else self._config().offsets_topic_num_partitions

    def _new_shard(self, timers: Timers) -> GroupShard:
        return GroupShard(
            GroupContext(
                config=self._config,
                group_config=self._group_config,
                image=lambda: self._broker.image,
                clock=self._clock,
                timers=timers,
                new_id=_new_id,
            )
        )

    def _config(self) -> BrokerConfig:
        return self._settings.now(self._broker.image)

    def _group_config(self, group_id: str) -> GroupConfig:
        return self._settings.of_group(self._broker.image, group_id)


def codec_of(settings: Settings, broker: Broker) -> Codec:
    """offsets.topic.compression.codec"""
    return Codec(settings.now(broker.image).offsets_topic_compression_codec)


def _new_id() -> str:
    return str(UUID(bytes=os.urandom(16), version=4))
