"""CreateTopics: new topics, with their partitions and settings."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int8, int16, int32, uuid


class CreateTopicsRequest(Message, key=19, versions=(2, 7), flexible=5):
    topics: tuple[CreatableTopic, ...]
    timeout_ms: int32 = 60000
    validate_only: bool = False


class CreatableTopic(Struct):
    name: str
    num_partitions: int32
    replication_factor: int16
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]


class CreatableReplicaAssignment(Struct):
    partition_index: int32
    broker_ids: tuple[int32, ...]


class CreatableTopicConfig(Struct):
    name: str
    value: str | None


class CreateTopicsResponse(Message, key=19, versions=(2, 7), flexible=5):
    throttle_time_ms: int32 = 0
    topics: tuple[CreatableTopicResult, ...] = ()


class CreatableTopicResult(Struct):
    name: str
    topic_id: uuid = field(default=NO_UUID, since=7, ignorable=True)
    error_code: int16 = 0
    error_message: str | None = None
    topic_config_error_code: int16 = field(default=0, since=5, tag=0, ignorable=True)
    num_partitions: int32 = field(default=-1, since=5, ignorable=True)
    replication_factor: int16 = field(default=-1, since=5, ignorable=True)
    configs: tuple[CreatableTopicConfigs, ...] | None = field(default=(), since=5, ignorable=True)


class CreatableTopicConfigs(Struct):
    name: str
    value: str | None
    read_only: bool
    config_source: int8 = -1
    is_sensitive: bool
