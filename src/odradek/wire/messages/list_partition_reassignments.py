"""ListPartitionReassignments: moves of replicas that are under way."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32


class ListPartitionReassignmentsRequest(Message, key=46, versions=(0, 0), flexible=0):
    timeout_ms: int32 = 60000
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None = None


class ListPartitionReassignmentsTopics(Struct):
    name: str
    partition_indexes: tuple[int32, ...]


class ListPartitionReassignmentsResponse(Message, key=46, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    topics: tuple[OngoingTopicReassignment, ...] = ()


class OngoingTopicReassignment(Struct):
    name: str
    partitions: tuple[OngoingPartitionReassignment, ...]


class OngoingPartitionReassignment(Struct):
    partition_index: int32
    replicas: tuple[int32, ...]
    adding_replicas: tuple[int32, ...]
    removing_replicas: tuple[int32, ...]
