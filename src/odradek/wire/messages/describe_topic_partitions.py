"""DescribeTopicPartitions: topics and their partitions, page by page."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, uuid


class DescribeTopicPartitionsRequest(Message, key=75, versions=(0, 0), flexible=0):
    topics: tuple[TopicRequest, ...]
    response_partition_limit: int32 = 2000
    cursor: Cursor | None = None


class TopicRequest(Struct):
    name: str


class Cursor(Struct):
    topic_name: str
    partition_index: int32


class DescribeTopicPartitionsResponse(Message, key=75, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...] = ()
    next_cursor: Cursor | None = None


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int16 = 0
    name: str | None
    topic_id: uuid
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...]
    topic_authorized_operations: int32 = -(1 << 31)


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int16 = 0
    partition_index: int32
    leader_id: int32
    leader_epoch: int32 = -1
    replica_nodes: tuple[int32, ...]
    isr_nodes: tuple[int32, ...]
    eligible_leader_replicas: tuple[int32, ...] | None = None
    last_known_elr: tuple[int32, ...] | None = None
    offline_replicas: tuple[int32, ...]
