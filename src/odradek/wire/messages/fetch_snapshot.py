"""FetchSnapshot: a piece of a snapshot of the metadata log."""

from __future__ import annotations

from odradek.wire.schema import (
    BLANK,
    NO_UUID,
    Message,
    Struct,
    field,
    int16,
    int32,
    int64,
    sendable_records,
    uint16,
    uuid,
)


class FetchSnapshotRequest(Message, key=59, versions=(0, 1), flexible=0):
    cluster_id: str | None = field(default=None, tag=0)
    replica_id: int32 = -1
    max_bytes: int32 = (1 << 31) - 1
    topics: tuple[TopicSnapshot, ...]


class TopicSnapshot(Struct):
    name: str
    partitions: tuple[PartitionSnapshot, ...]


class PartitionSnapshot(Struct):
    partition: int32
    current_leader_epoch: int32
    snapshot_id: SnapshotId
    position: int64
    replica_directory_id: uuid = field(default=NO_UUID, since=1, tag=0, ignorable=True)


class SnapshotId(Struct):
    end_offset: int64
    epoch: int32


class FetchSnapshotResponse(Message, key=59, versions=(0, 1), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: tuple[TopicSnapshotResult, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = field(default=(), since=1, tag=0)


class TopicSnapshotResult(Struct):
    name: str
    partitions: tuple[PartitionSnapshotResult, ...]


class PartitionSnapshotResult(Struct):
    index: int32
    error_code: int16 = 0
    snapshot_id: SnapshotId
    current_leader: LeaderIdAndEpoch = field(default=BLANK, tag=0)
    size: int64
    position: int64
    unaligned_records: sendable_records


class LeaderIdAndEpoch(Struct):
    leader_id: int32 = 0
    leader_epoch: int32 = 0


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: uint16
