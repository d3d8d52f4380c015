"""OffsetDelete: forgets positions of a group."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32


class OffsetDeleteRequest(Message, key=47, versions=(0, 0)):
    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]


class OffsetDeleteRequestTopic(Struct):
    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]


class OffsetDeleteRequestPartition(Struct):
    partition_index: int32


class OffsetDeleteResponse(Message, key=47, versions=(0, 0)):
    error_code: int16 = 0
    throttle_time_ms: int32 = 0
    topics: tuple[OffsetDeleteResponseTopic, ...] = ()


class OffsetDeleteResponseTopic(Struct):
    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


class OffsetDeleteResponsePartition(Struct):
    partition_index: int32
    error_code: int16 = 0
