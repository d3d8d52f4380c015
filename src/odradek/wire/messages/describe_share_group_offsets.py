"""DescribeShareGroupOffsets: where the partitions of share groups start."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64, uuid


class DescribeShareGroupOffsetsRequest(Message, key=90, versions=(0, 1), flexible=0):
    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...]


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str
    partitions: tuple[int32, ...]


class DescribeShareGroupOffsetsResponse(Message, key=90, versions=(0, 1), flexible=0):
    throttle_time_ms: int32 = 0
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...] = ()


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...]
    error_code: int16 = 0
    error_message: str | None = None


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str
    topic_id: uuid
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...]


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int32
    start_offset: int64
    leader_epoch: int32
    lag: int64 = field(default=-1, since=1, ignorable=True)
    error_code: int16 = 0
    error_message: str | None = None
