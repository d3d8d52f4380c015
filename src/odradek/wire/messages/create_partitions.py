"""CreatePartitions: more partitions for topics."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32


class CreatePartitionsRequest(Message, key=37, versions=(0, 3), flexible=2):
    topics: tuple[CreatePartitionsTopic, ...]
    timeout_ms: int32
    validate_only: bool


class CreatePartitionsTopic(Struct):
    name: str
    count: int32
    assignments: tuple[CreatePartitionsAssignment, ...] | None


class CreatePartitionsAssignment(Struct):
    broker_ids: tuple[int32, ...]


class CreatePartitionsResponse(Message, key=37, versions=(0, 3), flexible=2):
    throttle_time_ms: int32 = 0
    results: tuple[CreatePartitionsTopicResult, ...] = ()


class CreatePartitionsTopicResult(Struct):
    name: str
    error_code: int16 = 0
    error_message: str | None = None
