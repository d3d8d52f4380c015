"""ReadShareGroupState: the state of share partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32, int64, uuid


class ReadShareGroupStateRequest(Message, key=84, versions=(0, 0), flexible=0):
    group_id: str
    topics: tuple[ReadStateData, ...]


class ReadStateData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition: int32
    leader_epoch: int32


class ReadShareGroupStateResponse(Message, key=84, versions=(0, 0), flexible=0):
    results: tuple[ReadStateResult, ...] = ()


class ReadStateResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition: int32
    error_code: int16 = 0
    error_message: str | None = None
    state_epoch: int32
    start_offset: int64
    state_batches: tuple[StateBatch, ...]


class StateBatch(Struct):
    first_offset: int64
    last_offset: int64
    delivery_state: int8
    delivery_count: int16
