"""Writes the markers that end transactions in their partitions."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.coordination.coordinator_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from odradek.broker.coordination.groups import Groups
from odradek.broker.coordination.transactions import Transactions
from odradek.coordinators.result import Effect
from odradek.coordinators.transactions.markers import WriteMarkers
from odradek.model.errors import (
    BrokerError,
    InvalidProducerEpoch,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.replication.waiters import Unsettled, Wait

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
    def __init__(self, broker: Broker, groups: Groups) -> None:
        self._broker = broker
        self._groups = groups

    def write(self, partition: TopicPartition, marker: Marker) -> Unsettled | None:
        """Append the marker. Who relies on it waits for what is returned. Raises a BrokerError."""
        led = self._broker.partition(*partition)
        if partition.topic == OFFSETS_TOPIC:
            self._groups.end_transaction(
                partition.partition, marker.producer_id, lambda: led.end_transaction(marker), commit=marker.commit
            )
        else:
            led.end_transaction(marker)
        return led.unsettled

    def perform(self, transactions: Transactions, number: int, effect: Effect) -> None:
        """End a transaction of this partition of `__transaction_state` everywhere, and have it completed."""
        assert isinstance(effect, WriteMarkers)
        epoch = self._broker.partition(TRANSACTIONS_TOPIC, number).epoch
        marker = Marker(effect.producer_id, effect.epoch, effect.commit, epoch, effect.level)
        left: list[TopicPartition] = []
        try:
            unsettled = self._write_all(effect, marker, left)
        except (InvalidProducerEpoch, TransactionCoordinatorFenced):
            return  # as Kafka has it: a later end of this producer was there before, and this one is never complete
        if not unsettled:
            _complete(transactions, effect, left)
            return

        def complete(errors: Mapping[TopicPartition, BrokerError]) -> None:
            """Power may fail before: a transaction that is complete in the log must be so in its partitions."""
            for partition, error in errors.items():
                _report("a transaction cannot be ended yet", effect, partition, error)
            _complete(transactions, effect, [*left, *errors])

        Wait(unsettled, complete)

    def _write_all(
        self, effect: WriteMarkers, marker: Marker, left: list[TopicPartition]
    ) -> dict[TopicPartition, Unsettled]:
        """Returns the markers to wait for, and adds to `left` the partitions that are to be tried again.

        Raises, when all were tried, what the last of those raised for which this end comes too late.
        """
        unsettled = {}
        late: InvalidProducerEpoch | TransactionCoordinatorFenced | None = None
        for partition in effect.partitions:
            try:
                appended = self.write(partition, marker)
            except (InvalidProducerEpoch, TransactionCoordinatorFenced) as error:
                _report("the end of a transaction came too late", effect, partition, error)
                late = error
            except BrokerError as error:
                if not isinstance(error, UnknownTopicOrPartition) or self._is_there(partition):
                    _report("a transaction cannot be ended yet", effect, partition, error)
                    left.append(partition)
            else:
                if appended is not None:
                    unsettled[partition] = appended
        if late is not None:
            raise late
        return unsettled

    def _is_there(self, partition: TopicPartition) -> bool:
        """Whether it is only not led here. One that was deleted needs no marker."""
        topic = self._broker.image.topics.get(partition.topic)
        return topic is not None and partition.partition in topic.partitions


def _complete(transactions: Transactions, effect: WriteMarkers, left: Sequence[TopicPartition]) -> None:
    transactional_id = effect.transactional_id
    try:
        # Whether it is settled does not matter: after a crash it would be completed again.
        transactions.decide(transactional_id, lambda shard: shard.marked(transactional_id, left))
    except BrokerError as error:
        # It stays prepared, and is ended again when its partition is loaded the next time.
        logger.error("a transaction cannot be completed", extra={"id": transactional_id, "reason": str(error)})


def _report(text: str, effect: WriteMarkers, partition: TopicPartition, error: BrokerError) -> None:
    fields = {"id": effect.transactional_id, "partition": str(partition), "reason": str(error)}
    logger.warning(text, extra=fields)
