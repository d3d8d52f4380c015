"""ShareFetch: acquires records for a member of a share group."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64, sendable_records, uuid


class ShareFetchRequest(Message, key=78, versions=(1, 2), flexible=0):
    group_id: str | None = None
    member_id: str | None
    share_session_epoch: int32
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = (1 << 31) - 1
    max_records: int32
    batch_size: int32
    share_acquire_mode: int8 = field(default=0, since=2, ignorable=True)
    is_renew_ack: bool = field(default=False, since=2)
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...]


class FetchTopic(Struct):
    topic_id: uuid
    partitions: tuple[FetchPartition, ...]


class FetchPartition(Struct):
    partition_index: int32
    acknowledgement_batches: tuple[AcknowledgementBatch, ...]


class AcknowledgementBatch(Struct):
    first_offset: int64
    last_offset: int64
    acknowledge_types: tuple[int8, ...]


class ForgottenTopic(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]


class ShareFetchResponse(Message, key=78, versions=(1, 2), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int32 = 0
    responses: tuple[ShareFetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


class ShareFetchableTopicResponse(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    error_code: int16 = 0
    error_message: str | None = None
    acknowledge_error_code: int16 = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch
    records: sendable_records
    acquired_records: tuple[AcquiredRecords, ...]


class LeaderIdAndEpoch(Struct):
    leader_id: int32
    leader_epoch: int32


class AcquiredRecords(Struct):
    first_offset: int64
    last_offset: int64
    delivery_count: int16


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: int32
    rack: str | None = None
