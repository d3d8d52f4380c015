"""AlterShareGroupOffsets: moves the start of partitions of a share group."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64, uuid


class AlterShareGroupOffsetsRequest(Message, key=91, versions=(0, 0), flexible=0):
    group_id: str
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...]


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...]


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int32
    start_offset: int64


class AlterShareGroupOffsetsResponse(Message, key=91, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...] = ()


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str
    topic_id: uuid
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...]


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int32
    error_code: int16 = 0
    error_message: str | None = None
