"""ListOffsets: the offset of a timestamp, or of either end of a partition."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64


class ListOffsetsRequest(Message, key=2, versions=(1, 11), flexible=6):
    replica_id: int32
    isolation_level: int8 = field(default=0, since=2)
    topics: tuple[ListOffsetsTopic, ...]
    timeout_ms: int32 = field(default=0, since=10, ignorable=True)


class ListOffsetsTopic(Struct):
    name: str
    partitions: tuple[ListOffsetsPartition, ...]


class ListOffsetsPartition(Struct):
    partition_index: int32
    current_leader_epoch: int32 = field(default=-1, since=4, ignorable=True)
    timestamp: int64


class ListOffsetsResponse(Message, key=2, versions=(1, 11), flexible=6):
    throttle_time_ms: int32 = field(default=0, since=2, ignorable=True)
    topics: tuple[ListOffsetsTopicResponse, ...] = ()


class ListOffsetsTopicResponse(Struct):
    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]


class ListOffsetsPartitionResponse(Struct):
    partition_index: int32
    error_code: int16 = 0
    timestamp: int64 = -1
    offset: int64 = -1
    leader_epoch: int32 = field(default=-1, since=4)
