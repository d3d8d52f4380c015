"""OffsetFetch: the positions that groups have committed."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, int64, uuid


class OffsetFetchRequest(Message, key=9, versions=(1, 10), flexible=6):
    group_id: str = field(default="", until=7)
    topics: tuple[OffsetFetchRequestTopic, ...] | None = field(default=(), until=7, nullable=2)
    groups: tuple[OffsetFetchRequestGroup, ...] = field(default=(), since=8)
    require_stable: bool = field(default=False, since=7)


class OffsetFetchRequestTopic(Struct):
    name: str
    partition_indexes: tuple[int32, ...]


class OffsetFetchRequestGroup(Struct):
    group_id: str
    member_id: str | None = field(default=None, since=9, ignorable=True)
    member_epoch: int32 = field(default=-1, since=9, ignorable=True)
    topics: tuple[OffsetFetchRequestTopics, ...] | None


class OffsetFetchRequestTopics(Struct):
    name: str = field(default="", until=9, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=10, ignorable=True)
    partition_indexes: tuple[int32, ...]


class OffsetFetchResponse(Message, key=9, versions=(1, 10), flexible=6):
    throttle_time_ms: int32 = field(default=0, since=3, ignorable=True)
    topics: tuple[OffsetFetchResponseTopic, ...] = field(default=(), until=7)
    error_code: int16 = field(default=0, since=2, until=7, ignorable=True)
    groups: tuple[OffsetFetchResponseGroup, ...] = field(default=(), since=8)


class OffsetFetchResponseTopic(Struct):
    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]


class OffsetFetchResponsePartition(Struct):
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = field(default=-1, since=5, ignorable=True)
    metadata: str | None
    error_code: int16 = 0


class OffsetFetchResponseGroup(Struct):
    group_id: str
    topics: tuple[OffsetFetchResponseTopics, ...]
    error_code: int16 = 0


class OffsetFetchResponseTopics(Struct):
    name: str = field(default="", until=9, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=10, ignorable=True)
    partitions: tuple[OffsetFetchResponsePartitions, ...]


class OffsetFetchResponsePartitions(Struct):
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = -1
    metadata: str | None
    error_code: int16 = 0
