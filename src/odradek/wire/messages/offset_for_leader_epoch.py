"""OffsetForLeaderEpoch: where an epoch of a partition's leader ended."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class OffsetForLeaderEpochRequest(Message, key=23, versions=(2, 4), flexible=4):
    replica_id: int32 = field(default=-2, since=3, ignorable=True)
    topics: tuple[OffsetForLeaderTopic, ...]


class OffsetForLeaderTopic(Struct):
    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]


class OffsetForLeaderPartition(Struct):
    partition: int32
    current_leader_epoch: int32 = -1
    leader_epoch: int32


class OffsetForLeaderEpochResponse(Message, key=23, versions=(2, 4), flexible=4):
    throttle_time_ms: int32 = 0
    topics: tuple[OffsetForLeaderTopicResult, ...] = ()


class OffsetForLeaderTopicResult(Struct):
    topic: str
    partitions: tuple[EpochEndOffset, ...]


class EpochEndOffset(Struct):
    error_code: int16 = 0
    partition: int32
    leader_epoch: int32 = -1
    end_offset: int64 = -1
