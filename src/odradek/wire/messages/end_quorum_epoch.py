"""EndQuorumEpoch: a leader of the quorum resigns."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, uint16, uuid


class EndQuorumEpochRequest(Message, key=54, versions=(0, 1), flexible=1):
    cluster_id: str | None = None
    topics: tuple[TopicData, ...]
    leader_endpoints: tuple[LeaderEndpoint, ...] = field(default=(), since=1, ignorable=True)


class TopicData(Struct):
    topic_name: str
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    leader_id: int32
    leader_epoch: int32
    preferred_successors: tuple[int32, ...] = field(default=(), until=0, ignorable=True)
    preferred_candidates: tuple[ReplicaInfo, ...] = field(default=(), since=1, ignorable=True)


class ReplicaInfo(Struct):
    candidate_id: int32
    candidate_directory_id: uuid


class LeaderEndpoint(Struct):
    name: str
    host: str
    port: uint16


class EndQuorumEpochResponse(Message, key=54, versions=(0, 1), flexible=1):
    error_code: int16 = 0
    topics: tuple[TopicResult, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = field(default=(), since=1, tag=0)


class TopicResult(Struct):
    topic_name: str
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition_index: int32
    error_code: int16 = 0
    leader_id: int32
    leader_epoch: int32


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: uint16
