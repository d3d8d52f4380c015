"""InitializeShareGroupState: begins the state of share partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64, uuid


class InitializeShareGroupStateRequest(Message, key=83, versions=(0, 0), flexible=0):
    group_id: str
    topics: tuple[InitializeStateData, ...]


class InitializeStateData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition: int32
    state_epoch: int32
    start_offset: int64


class InitializeShareGroupStateResponse(Message, key=83, versions=(0, 0), flexible=0):
    results: tuple[InitializeStateResult, ...] = ()


class InitializeStateResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition: int32
    error_code: int16 = 0
    error_message: str | None = None
