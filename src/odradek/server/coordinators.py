"""The coordinators of a node: their runtimes, and what these are given of the node."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from odradek.broker.broker import Broker
from odradek.broker.coordination.coordinator_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from odradek.broker.coordination.group_events import log_event
from odradek.broker.coordination.groups import Groups
from odradek.broker.coordination.markers import Markers
from odradek.broker.coordination.producer_ids import ProducerIds
from odradek.broker.coordination.transactions import Transactions
from odradek.broker.settings.settings import Settings
from odradek.coordinators.groups.context import GroupContext
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import Effect
from odradek.coordinators.runtime import Runtime, RuntimeServices
from odradek.coordinators.timers import Timers
from odradek.coordinators.transactions.context import TransactionContext
from odradek.coordinators.transactions.shard import TransactionShard
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.group_config import GroupConfig
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import Codec
from odradek.wire.stored import CONSUMER_OFFSETS, TRANSACTION_STATE

_CODECS = tuple(Codec)
"""By their numbers."""


class Coordinators:
    def __init__(
        self,
        broker: Broker,
        settings: Settings,
        node: RuntimeServices,
        producer_ids: ProducerIds,
        new_uuid: Callable[[], bytes],
    ) -> None:
        self._broker = broker
        self._new_uuid = new_uuid
        self._settings = settings
        self._clock = node.clock
        self._producer_ids = producer_ids
        groups: Runtime[GroupShard] = Runtime(
            CONSUMER_OFFSETS, self._offsets_partitions, self._new_groups, node, log_event
        )
        transactions: Runtime[TransactionShard] = Runtime(
            TRANSACTION_STATE,
            self._transactions_partitions,
            self._new_transactions,
            replace(node, codec=lambda: Codec.NONE),
            self._perform,
        )
        self._runtimes: dict[str, Runtime[Any]] = {OFFSETS_TOPIC: groups, TRANSACTIONS_TOPIC: transactions}
        """By their topic. Groups come first: transactions that were being ended may be waited for by them."""
        self.groups = Groups(groups)
        self.transactions = Transactions(transactions, broker)
        self.markers = Markers(broker, self.groups)

    def begin(self, _image: Image) -> None:
        """Told of the first image, after the partitions were. What this node leads is loaded, while it serves."""
        for topic in self._runtimes:
            self._lead(topic)

    def change(self, delta: Delta, image: Image) -> None:
        """Told of every committed batch of metadata, after the partitions were."""
        topics = delta.topics
        changed = {topic.name for topic in (*topics.created, *topics.deleted, *(each.after for each in topics.changed))}
        for topic, runtime in self._runtimes.items():
            if topic in changed:
                self._lead(topic)
            runtime.topics_changed(delta, image)

    def close(self) -> None:
        for runtime in self._runtimes.values():
            runtime.close()

    def _lead(self, topic: str) -> None:
        found = self._broker.image.topics.get(topic)
        places = [TopicPartition(topic, number) for number in found.partitions] if found else []
        led = {place.partition: self._broker.partition(*place) for place in places if self._broker.leads(place)}
        self._runtimes[topic].lead(led)

    def _perform(self, number: int, effect: Effect) -> None:
        self.markers.perform(self.transactions, number, effect)

    def _offsets_partitions(self) -> int:
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        return len(topic.partitions) if topic else self._config().offsets_topic_num_partitions

    def _transactions_partitions(self) -> int:
        topic = self._broker.image.topics.get(TRANSACTIONS_TOPIC)
        return len(topic.partitions) if topic else self._config().transaction_state_log_num_partitions

    def _new_groups(self, timers: Timers) -> GroupShard:
        return GroupShard(
            GroupContext(
                config=self._config,
                group_config=self._group_config,
                image=lambda: self._broker.image,
                clock=self._clock,
                timers=timers,
                new_id=lambda: str(UUID(bytes=self._new_uuid(), version=4)),
            )
        )

    def _new_transactions(self, timers: Timers) -> TransactionShard:
        return TransactionShard(
            TransactionContext(
                config=self._config,
                image=lambda: self._broker.image,
                clock=self._clock,
                timers=timers,
                new_producer_id=self._producer_ids.take_now,
            )
        )

    def _config(self) -> BrokerConfig:
        return self._settings.now(self._broker.image)

    def _group_config(self, group_id: str) -> GroupConfig:
        return self._settings.of_group(self._broker.image, group_id)


def codec_of(settings: Settings, broker: Broker) -> Codec:
    """offsets.topic.compression.codec"""
    return _CODECS[settings.now(broker.image).offsets_topic_compression_codec]
