"""DescribeTransactions: state of transactional ids."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64


class DescribeTransactionsRequest(Message, key=65, versions=(0, 0), flexible=0):
    transactional_ids: tuple[str, ...]


class DescribeTransactionsResponse(Message, key=65, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    transaction_states: tuple[TransactionState, ...] = ()


class TransactionState(Struct):
    error_code: int16 = 0
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int32
    transaction_start_time_ms: int64
    producer_id: int64
    producer_epoch: int16
    topics: tuple[TopicData, ...]


class TopicData(Struct):
    topic: str
    partitions: tuple[int32, ...]
