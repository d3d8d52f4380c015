"""TxnOffsetCommit: keeps positions of a group once a transaction commits."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class TxnOffsetCommitRequest(Message, key=28, versions=(0, 5), flexible=3):
    transactional_id: str
    group_id: str
    producer_id: int64
    producer_epoch: int16
    generation_id: int32 = field(default=-1, since=3)
    member_id: str = field(default="", since=3)
    group_instance_id: str | None = field(default=None, since=3)
    topics: tuple[TxnOffsetCommitRequestTopic, ...]


class TxnOffsetCommitRequestTopic(Struct):
    name: str
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int32
    committed_offset: int64
    committed_leader_epoch: int32 = field(default=-1, since=2, ignorable=True)
    committed_metadata: str | None


class TxnOffsetCommitResponse(Message, key=28, versions=(0, 5), flexible=3):
    throttle_time_ms: int32 = 0
    topics: tuple[TxnOffsetCommitResponseTopic, ...] = ()


class TxnOffsetCommitResponseTopic(Struct):
    name: str
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int32
    error_code: int16 = 0
