"""Produce: appends batches of records to partitions."""

from __future__ import annotations

from odradek.wire.schema import BLANK, NO_UUID, Message, Struct, field, int16, int32, int64, records, uuid


class ProduceRequest(Message, key=0, versions=(3, 13), flexible=9):
    transactional_id: str | None = None
    acks: int16
    timeout_ms: int32
    topic_data: tuple[TopicProduceData, ...]


class TopicProduceData(Struct):
    name: str = field(default="", until=12, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=13, ignorable=True)
    partition_data: tuple[PartitionProduceData, ...]


class PartitionProduceData(Struct):
    index: int32
    records: records | None


class ProduceResponse(Message, key=0, versions=(3, 13), flexible=9):
    responses: tuple[TopicProduceResponse, ...] = ()
    throttle_time_ms: int32 = 0
    node_endpoints: tuple[NodeEndpoint, ...] = field(default=(), since=10, tag=0)


class TopicProduceResponse(Struct):
    name: str = field(default="", until=12, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=13, ignorable=True)
    partition_responses: tuple[PartitionProduceResponse, ...]


class PartitionProduceResponse(Struct):
    index: int32
    error_code: int16 = 0
    base_offset: int64
    log_append_time_ms: int64 = -1
    log_start_offset: int64 = field(default=-1, since=5, ignorable=True)
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = field(default=(), since=8, ignorable=True)
    error_message: str | None = field(default=None, since=8, ignorable=True)
    current_leader: LeaderIdAndEpoch = field(default=BLANK, since=10, tag=0)


class BatchIndexAndErrorMessage(Struct):
    batch_index: int32
    batch_index_error_message: str | None = None


class LeaderIdAndEpoch(Struct):
    leader_id: int32 = -1
    leader_epoch: int32 = -1


class NodeEndpoint(Struct):
    node_id: int32
    host: str
    port: int32
    rack: str | None = None
