"""AddPartitionsToTxn: partitions that a transaction is about to write to."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class AddPartitionsToTxnRequest(Message, key=24, versions=(0, 5), flexible=3):
    transactions: tuple[AddPartitionsToTxnTransaction, ...] = field(default=(), since=4)
    v3_and_below_transactional_id: str = field(default="", until=3)
    v3_and_below_producer_id: int64 = field(default=0, until=3)
    v3_and_below_producer_epoch: int16 = field(default=0, until=3)
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...] = field(default=(), until=3)


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str
    producer_id: int64
    producer_epoch: int16
    verify_only: bool = False
    topics: tuple[AddPartitionsToTxnTopic, ...]


class AddPartitionsToTxnTopic(Struct):
    name: str
    partitions: tuple[int32, ...]


class AddPartitionsToTxnResponse(Message, key=24, versions=(0, 5), flexible=3):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=4, ignorable=True)
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...] = field(default=(), since=4)
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...] = field(default=(), until=3)


class AddPartitionsToTxnResult(Struct):
    transactional_id: str
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]


class AddPartitionsToTxnTopicResult(Struct):
    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int32
    partition_error_code: int16
