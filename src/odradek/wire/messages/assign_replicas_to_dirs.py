"""AssignReplicasToDirs: a broker says which log directory has which replica."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64, uuid


class AssignReplicasToDirsRequest(Message, key=73, versions=(0, 0), flexible=0):
    broker_id: int32
    broker_epoch: int64 = -1
    directories: tuple[DirectoryData, ...]


class DirectoryData(Struct):
    id: uuid
    topics: tuple[TopicData, ...]


class TopicData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32


class AssignReplicasToDirsResponse(Message, key=73, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    directories: tuple[DirectoryResult, ...] = ()


class DirectoryResult(Struct):
    id: uuid
    topics: tuple[TopicResult, ...]


class TopicResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition_index: int32
    error_code: int16 = 0
