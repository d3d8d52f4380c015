"""Transactions, as records of `__transaction_state`."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64


class TransactionLogKey(Message, key=0, versions=(0, 0)):
    transactional_id: str


class TransactionLogValue(Message, key=0, versions=(0, 1), flexible=1):
    producer_id: int64
    previous_producer_id: int64 = field(default=-1, since=1, tag=0)
    next_producer_id: int64 = field(default=-1, since=1, tag=1)
    producer_epoch: int16
    next_producer_epoch: int16 = field(default=-1, since=1, tag=3)
    transaction_timeout_ms: int32
    transaction_status: int8
    transaction_partitions: tuple[PartitionsSchema, ...] | None
    transaction_last_update_timestamp_ms: int64
    transaction_start_timestamp_ms: int64
    client_transaction_version: int16 = field(default=0, since=1, tag=2)


class PartitionsSchema(Struct):
    topic: str
    partition_ids: tuple[int32, ...]
