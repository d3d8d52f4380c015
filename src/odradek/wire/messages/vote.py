"""Vote: a candidate asks the quorum's voters."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, int64, uint16, uuid


class VoteRequest(Message, key=52, versions=(0, 2), flexible=0):
    cluster_id: str | None = None
    voter_id: int32 = field(default=-1, since=1, ignorable=True)
    topics: tuple[TopicData, ...]


class TopicData(Struct):
    topic_name: str
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    replica_epoch: int32
    replica_id: int32
    replica_directory_id: uuid = field(default=NO_UUID, since=1, ignorable=True)
    voter_directory_id: uuid = field(default=NO_UUID, since=1, ignorable=True)
    last_offset_epoch: int32
    last_offset: int64
    pre_vote: bool = field(default=False, since=2)


class VoteResponse(Message, key=52, versions=(0, 2), flexible=0):
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
    vote_granted: bool


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: uint16
