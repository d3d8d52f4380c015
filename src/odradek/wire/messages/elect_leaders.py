"""ElectLeaders: asks for elections of partition leaders."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32


class ElectLeadersRequest(Message, key=43, versions=(0, 2), flexible=2):
    election_type: int8 = field(default=0, since=1)
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout_ms: int32 = 60000


class TopicPartitions(Struct):
    topic: str
    partitions: tuple[int32, ...]


class ElectLeadersResponse(Message, key=43, versions=(0, 2), flexible=2):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=1)
    replica_election_results: tuple[ReplicaElectionResult, ...] = ()


class ReplicaElectionResult(Struct):
    topic: str
    partition_result: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition_id: int32
    error_code: int16 = 0
    error_message: str | None = None
