"""StreamsGroupDescribe: state, topology and members of streams groups."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, int64, uint16


class StreamsGroupDescribeRequest(Message, key=89, versions=(0, 0), flexible=0):
    group_ids: tuple[str, ...]
    include_authorized_operations: bool


class StreamsGroupDescribeResponse(Message, key=89, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    groups: tuple[DescribedGroup, ...] = ()


class DescribedGroup(Struct):
    error_code: int16 = 0
    error_message: str | None = None
    group_id: str
    group_state: str
    group_epoch: int32
    assignment_epoch: int32
    topology: Topology | None = None
    members: tuple[Member, ...]
    authorized_operations: int32 = -(1 << 31)


class Topology(Struct):
    epoch: int32
    subtopologies: tuple[Subtopology, ...] | None = None


class Subtopology(Struct):
    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_source_topics: tuple[TopicInfo, ...]


class TopicInfo(Struct):
    name: str
    partitions: int32
    replication_factor: int16
    topic_configs: tuple[KeyValue, ...]


class KeyValue(Struct):
    key: str
    value: str


class Member(Struct):
    member_id: str
    member_epoch: int32
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    topology_epoch: int32
    process_id: str
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...]
    task_offsets: tuple[TaskOffset, ...]
    task_end_offsets: tuple[TaskOffset, ...]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: bool


class Endpoint(Struct):
    host: str
    port: uint16


class TaskOffset(Struct):
    subtopology_id: str
    partition: int32
    offset: int64


class Assignment(Struct):
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]


class TaskIds(Struct):
    subtopology_id: str
    partitions: tuple[int32, ...]
