"""ShareAcknowledge: what became of acquired records."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64, uuid


class ShareAcknowledgeRequest(Message, key=79, versions=(1, 2), flexible=0):
    group_id: str | None = None
    member_id: str | None
    share_session_epoch: int32
    is_renew_ack: bool = field(default=False, since=2)
    topics: tuple[AcknowledgeTopic, ...]


class AcknowledgeTopic(Struct):
    topic_id: uuid
    partitions: tuple[AcknowledgePartition, ...]


class AcknowledgePartition(Struct):
    partition_index: int32
    acknowledgement_batches: tuple[AcknowledgementBatch, ...]


class AcknowledgementBatch(Struct):
    first_offset: int64
    last_offset: int64
    acknowledge_types: tuple[int8, ...]


class ShareAcknowledgeResponse(Message, key=79, versions=(1, 2), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int32 = field(default=0, since=2, ignorable=True)
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    error_code: int16 = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch


class LeaderIdAndEpoch(Struct):
    leader_id: int32
    leader_epoch: int32


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: int32
    rack: str | None = None
