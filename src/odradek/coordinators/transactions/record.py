"""Transactions as records of `__transaction_state`."""

from collections.abc import Mapping

from odradek.coordinators.result import Stored
from odradek.coordinators.transactions.state import TransactionState
from odradek.coordinators.transactions.transaction import Transaction
from odradek.model.errors import CorruptBatch
from odradek.model.numbers import ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue

_VERSION_1_SINCE = 1
"""The level of transaction.version."""
_IN_NO_RECORD = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


def stored(transaction: Transaction, level: int) -> Stored:
    """`level` is that of transaction.version."""
    version = int(level >= _VERSION_1_SINCE)
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is TransactionState.EMPTY else _grouped(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_level,
        **_ids(transaction) if version else {},
    )
    return Stored(TransactionLogKey(transactional_id=transaction.transactional_id), value, version)


def tombstone(transactional_id: str) -> Stored:
    return Stored(TransactionLogKey(transactional_id=transactional_id), None)


def transaction_in(transactional_id: str, value: TransactionLogValue) -> Transaction:
    """What a record says. Raises CorruptBatch for a state that no record has."""
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise CorruptBatch(f"{transactional_id!r} is in the unknown state {value.transaction_status}") from None
    if state in _IN_NO_RECORD:
        raise CorruptBatch(f"{transactional_id!r} is in state {state.label}, which is never stored")
    return Transaction(
        transactional_id=transactional_id,
        producer_id=ProducerId(value.producer_id),
        previous_producer_id=ProducerId(value.previous_producer_id),
        next_producer_id=ProducerId(value.next_producer_id),
        epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=_partitions_in(value),
        started_ms=TimestampMs(value.transaction_start_timestamp_ms),
        updated_ms=TimestampMs(value.transaction_last_update_timestamp_ms),
        client_level=value.client_transaction_version,
    )


def by_topic(partitions: Mapping[TopicPartition, None]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


def _ids(transaction: Transaction) -> dict[str, int]:
    return {
        "previous_producer_id": transaction.previous_producer_id,
        "next_producer_id": transaction.next_producer_id,
    }


def _grouped(transaction: Transaction) -> tuple[PartitionsSchema, ...]:
    return tuple(
        PartitionsSchema(topic=topic, partition_ids=tuple(numbers))
        for topic, numbers in by_topic(transaction.partitions).items()
    )


def _partitions_in(value: TransactionLogValue) -> Mapping[TopicPartition, None]:
    return {
        TopicPartition(each.topic, number): None
        for each in value.transaction_partitions or ()
        for number in each.partition_ids
    }
