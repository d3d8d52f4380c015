"""DescribeQuorum: voters and observers of the quorum, and how far they are."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, int64, uint16, uuid


class DescribeQuorumRequest(Message, key=55, versions=(0, 2), flexible=0):
    topics: tuple[TopicData, ...]


class TopicData(Struct):
    topic_name: str
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32


class DescribeQuorumResponse(Message, key=55, versions=(0, 2), flexible=0):
    error_code: int16 = 0
    error_message: str | None = field(default="", since=2, ignorable=True)
    topics: tuple[TopicResult, ...] = ()
    nodes: tuple[Node, ...] = field(default=(), since=2)


class TopicResult(Struct):
    topic_name: str
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition_index: int32
    error_code: int16 = 0
    error_message: str | None = field(default="", since=2, ignorable=True)
    leader_id: int32
    leader_epoch: int32
    high_watermark: int64
    current_voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]


class ReplicaState(Struct):
    replica_id: int32
    replica_directory_id: uuid = field(default=NO_UUID, since=2)
    log_end_offset: int64
    last_fetch_timestamp: int64 = field(default=-1, since=1, ignorable=True)
    last_caught_up_timestamp: int64 = field(default=-1, since=1, ignorable=True)


class Node(Struct):
    node_id: int32
    listeners: tuple[Listener, ...]


class Listener(Struct):
    name: str
    host: str
    port: uint16
