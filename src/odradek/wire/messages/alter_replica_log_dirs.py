"""AlterReplicaLogDirs: moves replicas between log directories of a broker."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32


class AlterReplicaLogDirsRequest(Message, key=34, versions=(1, 2), flexible=2):
    dirs: tuple[AlterReplicaLogDir, ...]


class AlterReplicaLogDir(Struct):
    path: str
    topics: tuple[AlterReplicaLogDirTopic, ...]


class AlterReplicaLogDirTopic(Struct):
    name: str
    partitions: tuple[int32, ...]


class AlterReplicaLogDirsResponse(Message, key=34, versions=(1, 2), flexible=2):
    throttle_time_ms: int32 = 0
    results: tuple[AlterReplicaLogDirTopicResult, ...] = ()


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...]


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int32
    error_code: int16 = 0
