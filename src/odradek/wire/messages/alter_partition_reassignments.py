"""AlterPartitionReassignments: starts or ends moves of replicas between brokers."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32


class AlterPartitionReassignmentsRequest(Message, key=45, versions=(0, 1), flexible=0):
    timeout_ms: int32 = 60000
    allow_replication_factor_change: bool = field(default=True, since=1)
    topics: tuple[ReassignableTopic, ...]


class ReassignableTopic(Struct):
    name: str
    partitions: tuple[ReassignablePartition, ...]


class ReassignablePartition(Struct):
    partition_index: int32
    replicas: tuple[int32, ...] | None = None


class AlterPartitionReassignmentsResponse(Message, key=45, versions=(0, 1), flexible=0):
    throttle_time_ms: int32 = 0
    allow_replication_factor_change: bool = field(default=True, since=1, ignorable=True)
    error_code: int16 = 0
    error_message: str | None = None
    responses: tuple[ReassignableTopicResponse, ...] = ()


class ReassignableTopicResponse(Struct):
    name: str
    partitions: tuple[ReassignablePartitionResponse, ...]


class ReassignablePartitionResponse(Struct):
    partition_index: int32
    error_code: int16 = 0
    error_message: str | None = None
