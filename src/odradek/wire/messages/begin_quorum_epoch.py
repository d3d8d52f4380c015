"""BeginQuorumEpoch: a new leader of the quorum announces itself."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, uint16, uuid


class BeginQuorumEpochRequest(Message, key=53, versions=(0, 1), flexible=1):
    cluster_id: str | None = None
    voter_id: int32 = field(default=-1, since=1, ignorable=True)
    topics: tuple[TopicData, ...]
    leader_endpoints: tuple[LeaderEndpoint, ...] = field(default=(), since=1, ignorable=True)


class TopicData(Struct):
    topic_name: str
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    voter_directory_id: uuid = field(default=NO_UUID, since=1, ignorable=True)
    leader_id: int32
    leader_epoch: int32


class LeaderEndpoint(Struct):
    name: str
    host: str
    port: uint16


class BeginQuorumEpochResponse(Message, key=53, versions=(0, 1), flexible=1):
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
