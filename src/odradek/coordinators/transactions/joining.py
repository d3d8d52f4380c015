"""Partitions join a transaction, and leaders ask whether one has."""

from collections.abc import Collection

from odradek.coordinators.transactions.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTransactionRequest,
    ProducerFenced,
)
from odradek.coordinators.transactions.state import TransactionState
from odradek.coordinators.transactions.transaction import Claim, Transaction
from odradek.model.topic_partition import TopicPartition


def check_id(transactional_id: str) -> None:
    if not transactional_id:
        raise InvalidTransactionRequest("an empty transactional id")


def check_claim(transaction: Transaction | None, who: Claim) -> Transaction:
    """The transaction, if it is that of this producer and not just being ended. Raises."""
    if transaction is None or transaction.producer_id != who.producer_id:
        raise InvalidProducerIdMapping(
            f"producer id {who.producer_id} is not currently assigned to its transactional id {who.transactional_id}"
        )
    if transaction.epoch != who.epoch:
        raise ProducerFenced(who.fenced_by(transaction.epoch))
    if transaction.is_ending:
        raise ConcurrentTransactions(f"{who.transactional_id!r} is in state {transaction.state.label}")
    return transaction


def has_all(transaction: Transaction, partitions: Collection[TopicPartition]) -> bool:
    """Whether nothing would change if these joined."""
    return transaction.state is TransactionState.ONGOING and all(each in transaction.partitions for each in partitions)
