"""OffsetCommit: keeps the positions of a group."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, int64, uuid


class OffsetCommitRequest(Message, key=8, versions=(2, 10), flexible=8):
    group_id: str
    generation_id_or_member_epoch: int32 = -1
    member_id: str
    group_instance_id: str | None = field(default=None, since=7)
    retention_time_ms: int64 = field(default=-1, until=4, ignorable=True)
    topics: tuple[OffsetCommitRequestTopic, ...]


class OffsetCommitRequestTopic(Struct):
    name: str = field(default="", until=9, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=10, ignorable=True)
    partitions: tuple[OffsetCommitRequestPartition, ...]


class OffsetCommitRequestPartition(Struct):
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = field(default=-1, since=6, ignorable=True)
    committed_metadata: str | None


class OffsetCommitResponse(Message, key=8, versions=(2, 10), flexible=8):
    throttle_time_ms: int32 = field(default=0, since=3, ignorable=True)
    topics: tuple[OffsetCommitResponseTopic, ...] = ()


class OffsetCommitResponseTopic(Struct):
    name: str = field(default="", until=9, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=10, ignorable=True)
    partitions: tuple[OffsetCommitResponsePartition, ...]


class OffsetCommitResponsePartition(Struct):
    partition_index: int32
    error_code: int16 = 0
