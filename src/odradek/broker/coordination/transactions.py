"""The transactions that this node coordinates, as handlers reach them.

Leaders of partitions ask the coordinator before they take the first batch of a transaction. Where Kafka sends a request
for that, here it is a call: nothing can happen between its answer and the append, so no batch can slip in behind the
end of its transaction.
"""

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.coordination.coordinator import Coordinator
from odradek.broker.coordination.coordinator_topics import TRANSACTIONS_TOPIC
from odradek.coordinators.errors import CoordinatorNotAvailable
from odradek.coordinators.runtime import Runtime
from odradek.coordinators.transactions.errors import ProducerFenced, TransactionAbortable
from odradek.coordinators.transactions.joining import check_id
from odradek.coordinators.transactions.shard import TransactionShard
from odradek.coordinators.transactions.transaction import EPOCH_RISES_SINCE, Claim
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, InvalidTxnState
from odradek.model.topic_partition import TopicPartition
from odradek.replication.waiters import Unsettled


class ClientKnows(IntEnum):
    """What a client that writes in a transaction knows, by the version of its request."""

    NOTHING = 0
    ABORTABLE = 1
    """There is an error that says to abort the transaction."""
    JOINING = 2
    """Partitions join as they are written to, and nobody says so before."""


class FencedEpoch(BrokerError):
    """What the coordinator calls fenced, for one who writes."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH


class Admission(NamedTuple):
    refused: dict[TopicPartition, BrokerError]
    """Partitions that may not be written to."""
    unsettled: Unsettled | None = None
    """To be waited for before the others are written to."""


class Transactions(Coordinator[TransactionShard]):
    def __init__(self, runtime: Runtime[TransactionShard], broker: Broker) -> None:
        super().__init__(runtime)
        self._broker = broker

    def admit(self, who: Claim, partitions: Collection[TopicPartition], knows: ClientKnows) -> Admission:
        """Whether these may be written to: they are in the transaction, or join it now if the client knows of that."""
        try:
            check_id(who.transactional_id)
            if TRANSACTIONS_TOPIC not in self._broker.image.topics:
                raise CoordinatorNotAvailable("there are no transactions yet")
            if knows is ClientKnows.JOINING:
                joined = self.decide(who.transactional_id, lambda shard: shard.join(who, partitions, EPOCH_RISES_SINCE))
                return Admission({}, joined)
            shard = self.shard_of(who.transactional_id)
        except BrokerError as error:
            return Admission(dict.fromkeys(partitions, _for_producer(error, knows)))
        return Admission(_not_joined(shard, who, partitions, knows))


def _not_joined(
    shard: TransactionShard, who: Claim, partitions: Collection[TopicPartition], knows: ClientKnows
) -> dict[TopicPartition, BrokerError]:
    refused = {}
    for partition in partitions:
        try:
            shard.check_joined(who, partition)
        except BrokerError as error:
            refused[partition] = _for_producer(error, knows)
    return refused


def _for_producer(error: BrokerError, knows: ClientKnows) -> BrokerError:
    """As a producer hears it."""
    if isinstance(error, ProducerFenced):
        return FencedEpoch(str(error))
    if isinstance(error, TransactionAbortable) and knows is ClientKnows.NOTHING:
        return InvalidTxnState(str(error))
    return error
