"""DescribeProducers: producers with state in partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64


class DescribeProducersRequest(Message, key=61, versions=(0, 0), flexible=0):
    topics: tuple[TopicRequest, ...]


class TopicRequest(Struct):
    name: str
    partition_indexes: tuple[int32, ...]


class DescribeProducersResponse(Message, key=61, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    topics: tuple[TopicResponse, ...] = ()


class TopicResponse(Struct):
    name: str
    partitions: tuple[PartitionResponse, ...]


class PartitionResponse(Struct):
    partition_index: int32
    error_code: int16 = 0
    error_message: str | None = None
    active_producers: tuple[ProducerState, ...]


class ProducerState(Struct):
    producer_id: int64
    producer_epoch: int32
    last_sequence: int32 = -1
    last_timestamp: int64 = -1
    coordinator_epoch: int32
    current_txn_start_offset: int64 = -1
