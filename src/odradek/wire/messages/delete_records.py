"""DeleteRecords: moves the start of partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64


class DeleteRecordsRequest(Message, key=21, versions=(0, 2), flexible=2):
    topics: tuple[DeleteRecordsTopic, ...]
    timeout_ms: int32


class DeleteRecordsTopic(Struct):
    name: str
    partitions: tuple[DeleteRecordsPartition, ...]


class DeleteRecordsPartition(Struct):
    partition_index: int32
    offset: int64


class DeleteRecordsResponse(Message, key=21, versions=(0, 2), flexible=2):
    throttle_time_ms: int32 = 0
    topics: tuple[DeleteRecordsTopicResult, ...] = ()


class DeleteRecordsTopicResult(Struct):
    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]


class DeleteRecordsPartitionResult(Struct):
    partition_index: int32
    low_watermark: int64
    error_code: int16 = 0
