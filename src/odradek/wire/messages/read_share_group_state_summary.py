"""ReadShareGroupStateSummary: where share partitions start."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64, uuid


class ReadShareGroupStateSummaryRequest(Message, key=87, versions=(0, 1), flexible=0):
    group_id: str
    topics: tuple[ReadStateSummaryData, ...]


class ReadStateSummaryData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition: int32
    leader_epoch: int32


class ReadShareGroupStateSummaryResponse(Message, key=87, versions=(0, 1), flexible=0):
    results: tuple[ReadStateSummaryResult, ...] = ()


class ReadStateSummaryResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition: int32
    error_code: int16 = 0
    error_message: str | None = None
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(default=-1, since=1, ignorable=True)
