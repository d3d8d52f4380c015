"""ConsumerGroupHeartbeat: a member of a consumer group says what it has and learns what it should have."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, uuid


class ConsumerGroupHeartbeatRequest(Message, key=68, versions=(0, 1), flexible=0):
    group_id: str
    member_id: str
    member_epoch: int32
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int32 = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = field(default=None, since=1)
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None


class TopicPartitions(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]


class ConsumerGroupHeartbeatResponse(Message, key=68, versions=(0, 1), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    assignment: Assignment | None = None


class Assignment(Struct):
    topic_partitions: tuple[TopicPartitions, ...]
