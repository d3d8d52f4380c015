"""The end of a transaction in its partitions: what is asked of those who write to them."""

from typing import NamedTuple

from odradek.coordinators.transactions.state import TransactionState
from odradek.coordinators.transactions.transaction import Transaction
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition


class WriteMarkers(NamedTuple):
    """An effect: write a marker to each partition, and tell the shard which are left."""

    transactional_id: str
    producer_id: ProducerId
    epoch: int
    commit: bool
    level: int
    """From 2 on the epoch of the marker is above that of what it ends, and partitions insist on it."""
    partitions: tuple[TopicPartition, ...]


def markers_of(transaction: Transaction) -> WriteMarkers:
    """For all of its partitions."""
    return WriteMarkers(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.epoch,
        transaction.state is TransactionState.PREPARE_COMMIT,
        transaction.client_level,
        tuple(transaction.partitions),
    )
