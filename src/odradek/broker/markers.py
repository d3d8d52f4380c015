"""Writes the markers that end transactions in their partitions."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.coordinator_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from odradek.broker.groups import Groups
from odradek.broker.transactions import Transactions
from odradek.coordinators.result import Effect
from odradek.coordinators.transactions.markers import WriteMarkers
from odradek.model.errors import (
    BrokerError,
    InvalidProducerEpoch,
    StorageFailed,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.process.tasks import Tasks
from odradek.storage.log import Log

logger = logging.getLogger(__name__)


class Marker(NamedTuple):
    """The end of a transaction, for a partition."""

    producer_id: ProducerId
    epoch: int
    commit: bool
    coordinator_epoch: int
    level: int
    """Of transaction.version, by which partitions judge the epoch."""


class Markers:
    def __init__(self, broker: Broker, groups: Groups, tasks: Tasks) -> None:
        self._broker = broker
        self._groups = groups
        self._tasks = tasks

    def write(self, partition: TopicPartition, marker: Marker) -> Log:
        """Into the log that is returned. Raises a BrokerError."""
        led = self._broker.partition(*partition)
        if partition.topic == OFFSETS_TOPIC:
            self._groups.end_transaction(
                partition.partition, marker.producer_id, lambda: led.end_transaction(marker), commit=marker.commit
            )
        else:
            led.end_transaction(marker)
        return led.log

    def perform(self, transactions: Transactions, number: int, effect: Effect) -> None:
        """End a transaction of this partition of `__transaction_state` everywhere, and have it completed."""
        assert isinstance(effect, WriteMarkers)
        epoch = self._broker.partition(TRANSACTIONS_TOPIC, number).epoch
        marker = Marker(effect.producer_id, effect.epoch, effect.commit, epoch, effect.level)
        is_late = False
        left: list[TopicPartition] = []
        unsynced: list[Log] = []
        for partition in effect.partitions:
            try:
                log = self.write(partition, marker)
            except (InvalidProducerEpoch, TransactionCoordinatorFenced) as error:
                _report("the end of a transaction came too late", effect, partition, error)
                is_late = True
            except UnknownTopicOrPartition as error:
                if self._is_there(partition):
                    _report("a transaction cannot be ended yet", effect, partition, error)
                    left.append(partition)
            except BrokerError as error:
                _report("a transaction cannot be ended yet", effect, partition, error)
                left.append(partition)
            else:
                if log.end_offset - log.recovery_point >= log.config.flush_messages:
                    unsynced.append(log)
        if is_late:
            return  # as Kafka has it: a later end of this producer was there before, and this one is never complete
        if unsynced:
            work = self._complete_when_synced(transactions, effect, left, unsynced)
            self._tasks.create_task(work, name="sync-markers")
        else:
            _complete(transactions, effect, left)

    def _is_there(self, partition: TopicPartition) -> bool:
        """Whether it is only not led here. One that was deleted needs no marker."""
        topic = self._broker.image.topics.get(partition.topic)
        return topic is not None and partition.partition in topic.partitions

    async def _complete_when_synced(
        self, transactions: Transactions, effect: WriteMarkers, left: list[TopicPartition], unsynced: Sequence[Log]
    ) -> None:
        """Power may fail between: a transaction that is complete in the log must be so in its partitions."""
        for log in unsynced:
            try:
                await self._broker.flusher.settle(log)
            except StorageFailed as error:
                _report("a transaction cannot be ended yet", effect, log.partition, error)
                left.append(log.partition)
        _complete(transactions, effect, left)


def _complete(transactions: Transactions, effect: WriteMarkers, left: Sequence[TopicPartition]) -> None:
    transactional_id = effect.transactional_id
    try:
        # Whether it is synced does not matter: after a crash it would be completed again.
        transactions.decide(transactional_id, lambda shard: shard.marked(transactional_id, left))
    except BrokerError as error:
        # It stays prepared, and is ended again when its partition is loaded the next time.
        logger.error("a transaction cannot be completed", extra={"id": transactional_id, "reason": str(error)})


def _report(text: str, effect: WriteMarkers, partition: TopicPartition, error: BrokerError) -> None:
    fields = {"id": effect.transactional_id, "partition": str(partition), "reason": str(error)}
    logger.warning(text, extra=fields)
