"""DeleteShareGroupState: forgets the state of share partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, uuid


class DeleteShareGroupStateRequest(Message, key=86, versions=(0, 0), flexible=0):
    group_id: str
    topics: tuple[DeleteStateData, ...]


class DeleteStateData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition: int32


class DeleteShareGroupStateResponse(Message, key=86, versions=(0, 0), flexible=0):
    results: tuple[DeleteStateResult, ...] = ()


class DeleteStateResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition: int32
    error_code: int16 = 0
    error_message: str | None = None
