"""Streams groups (KIP-1071), as records of `__consumer_offsets`."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64, uint16


class StreamsGroupMetadataKey(Message, key=17, versions=(0, 0)):
    group_id: str


class StreamsGroupMetadataValue(Message, key=17, versions=(0, 0), flexible=0):
    epoch: int32
    metadata_hash: int64
    validated_topology_epoch: int32 = field(default=-1, tag=0)
    last_assignment_configs: tuple[LastAssignmentConfig, ...] | None = field(default=(), tag=1)


class LastAssignmentConfig(Struct):
    key: str
    value: str


class StreamsGroupMemberMetadataKey(Message, key=19, versions=(0, 0)):
    group_id: str
    member_id: str


class StreamsGroupMemberMetadataValue(Message, key=19, versions=(0, 0), flexible=0):
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int32 = -1
    topology_epoch: int32
    process_id: str
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...]


class Endpoint(Struct):
    host: str
    port: uint16


class KeyValue(Struct):
    key: str
    value: str


class StreamsGroupTargetAssignmentMetadataKey(Message, key=20, versions=(0, 0)):
    group_id: str


class StreamsGroupTargetAssignmentMetadataValue(Message, key=20, versions=(0, 0), flexible=0):
    assignment_epoch: int32
    assignment_timestamp: int64 = field(default=0, tag=0)


class StreamsGroupTargetAssignmentMemberKey(Message, key=21, versions=(0, 0)):
    group_id: str
    member_id: str


class StreamsGroupTargetAssignmentMemberValue(Message, key=21, versions=(0, 0), flexible=0):
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]


class TaskIds(Struct):
    subtopology_id: str
    partitions: tuple[int32, ...]


class StreamsGroupCurrentMemberAssignmentKey(Message, key=22, versions=(0, 0)):
    group_id: str
    member_id: str


class StreamsGroupCurrentMemberAssignmentValue(Message, key=22, versions=(0, 0), flexible=0):
    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    active_tasks: tuple[CurrentTaskIds, ...]
    standby_tasks: tuple[CurrentTaskIds, ...]
    warmup_tasks: tuple[CurrentTaskIds, ...]
    active_tasks_pending_revocation: tuple[CurrentTaskIds, ...]
    standby_tasks_pending_revocation: tuple[CurrentTaskIds, ...]
    warmup_tasks_pending_revocation: tuple[CurrentTaskIds, ...]


class CurrentTaskIds(Struct):
    subtopology_id: str
    partitions: tuple[int32, ...]
    assignment_epochs: tuple[int32, ...] | None = field(default=(), tag=0)


class StreamsGroupTopologyKey(Message, key=23, versions=(0, 0)):
    group_id: str


class StreamsGroupTopologyValue(Message, key=23, versions=(0, 0), flexible=0):
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
    topic_configs: tuple[TopicConfig, ...]


class TopicConfig(Struct):
    key: str
    value: str


class CopartitionGroup(Struct):
    source_topics: tuple[int16, ...]
    source_topic_regex: tuple[int16, ...]
    repartition_source_topics: tuple[int16, ...]
