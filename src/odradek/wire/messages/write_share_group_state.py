"""WriteShareGroupState: changes the state of share partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64, uuid


class WriteShareGroupStateRequest(Message, key=85, versions=(0, 1), flexible=0):
    group_id: str
    topics: tuple[WriteStateData, ...]


class WriteStateData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition: int32
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(default=-1, since=1, ignorable=True)
    state_batches: tuple[StateBatch, ...]


class StateBatch(Struct):
    first_offset: int64
    last_offset: int64
    delivery_state: int8
    delivery_count: int16


class WriteShareGroupStateResponse(Message, key=85, versions=(0, 1), flexible=0):
    results: tuple[WriteStateResult, ...] = ()


class WriteStateResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition: int32
    error_code: int16 = 0
    error_message: str | None = None
