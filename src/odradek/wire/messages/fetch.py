"""Fetch: batches of records of partitions, for consumers and followers."""

from __future__ import annotations

from odradek.wire.schema import (
    BLANK,
    NO_UUID,
    Message,
    Struct,
    field,
    int8,
    int16,
    int32,
    int64,
    sendable_records,
    uuid,
)


class FetchRequest(Message, key=1, versions=(4, 18), flexible=12):
    cluster_id: str | None = field(default=None, since=12, tag=0, ignorable=True)
    replica_id: int32 = field(default=-1, until=14)
    replica_state: ReplicaState = field(default=BLANK, since=15, tag=1)
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = (1 << 31) - 1
    isolation_level: int8 = 0
    session_id: int32 = field(default=0, since=7, ignorable=True)
    session_epoch: int32 = field(default=-1, since=7, ignorable=True)
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...] = field(default=(), since=7)
    rack_id: str = field(default="", since=11, ignorable=True)


class ReplicaState(Struct):
    replica_id: int32 = -1
    replica_epoch: int64 = -1


class FetchTopic(Struct):
    topic: str = field(default="", until=12, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=13, ignorable=True)
    partitions: tuple[FetchPartition, ...]


class FetchPartition(Struct):
    partition: int32
    current_leader_epoch: int32 = field(default=-1, since=9, ignorable=True)
    fetch_offset: int64
    last_fetched_epoch: int32 = field(default=-1, since=12)
    log_start_offset: int64 = field(default=-1, since=5, ignorable=True)
    partition_max_bytes: int32
    replica_directory_id: uuid = field(default=NO_UUID, since=17, tag=0, ignorable=True)
    high_watermark: int64 = field(default=(1 << 63) - 1, since=18, tag=1, ignorable=True)


class ForgottenTopic(Struct):
    topic: str = field(default="", until=12, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=13, ignorable=True)
    partitions: tuple[int32, ...]


class FetchResponse(Message, key=1, versions=(4, 18), flexible=12):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=7, ignorable=True)
    session_id: int32 = field(default=0, since=7)
    responses: tuple[FetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = field(default=(), since=16, tag=0)


class FetchableTopicResponse(Struct):
    topic: str = field(default="", until=12, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=13, ignorable=True)
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    error_code: int16 = 0
    high_watermark: int64
    last_stable_offset: int64 = -1
    log_start_offset: int64 = field(default=-1, since=5, ignorable=True)
    diverging_epoch: EpochEndOffset = field(default=BLANK, since=12, tag=0)
    current_leader: LeaderIdAndEpoch = field(default=BLANK, since=12, tag=1)
    snapshot_id: SnapshotId = field(default=BLANK, since=12, tag=2)
    aborted_transactions: tuple[AbortedTransaction, ...] | None
    preferred_read_replica: int32 = field(default=-1, since=11)
    records: sendable_records | None


class EpochEndOffset(Struct):
    epoch: int32 = -1
    end_offset: int64 = -1


class LeaderIdAndEpoch(Struct):
    leader_id: int32 = -1
    leader_epoch: int32 = -1


class SnapshotId(Struct):
    end_offset: int64 = -1
    epoch: int32 = -1


class AbortedTransaction(Struct):
    producer_id: int64
    first_offset: int64


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: int32
    rack: str | None = None
