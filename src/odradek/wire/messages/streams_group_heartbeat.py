"""StreamsGroupHeartbeat: a member of a streams group says what it has and learns its tasks."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32, int64, uint16


class StreamsGroupHeartbeatRequest(Message, key=88, versions=(0, 0), flexible=0):
    group_id: str
    member_id: str
    member_epoch: int32
    endpoint_information_epoch: int32
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int32 = -1
    topology: Topology | None = None
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] | None = None
    task_offsets: tuple[TaskOffset, ...] | None = None
    task_end_offsets: tuple[TaskOffset, ...] | None = None
    shutdown_application: bool = False


class Topology(Struct):
    epoch: int32
    subtopologies: tuple[Subtopology, ...]


class Subtopology(Struct):
    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[TopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


class TopicInfo(Struct):
    name: str
    partitions: int32
    replication_factor: int16
    topic_configs: tuple[KeyValue, ...]


class KeyValue(Struct):
    key: str
    value: str


class CopartitionGroup(Struct):
    source_topics: tuple[int16, ...]
    source_topic_regex: tuple[int16, ...]
    repartition_source_topics: tuple[int16, ...]


class TaskIds(Struct):
    subtopology_id: str
    partitions: tuple[int32, ...]


class Endpoint(Struct):
    host: str
    port: uint16


class TaskOffset(Struct):
    subtopology_id: str
    partition: int32
    offset: int64


class StreamsGroupHeartbeatResponse(Message, key=88, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    acceptable_recovery_lag: int32 = 0
    task_offset_interval_ms: int32 = 0
    status: tuple[Status, ...] | None = ()
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    endpoint_information_epoch: int32 = 0
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None = None


class Status(Struct):
    status_code: int8
    status_detail: str


class EndpointToPartitions(Struct):
    user_endpoint: Endpoint
    active_partitions: tuple[TopicPartition, ...]
    standby_partitions: tuple[TopicPartition, ...]


class TopicPartition(Struct):
    topic: str
    partitions: tuple[int32, ...]
