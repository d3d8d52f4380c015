"""ShareGroupHeartbeat: a member of a share group is alive, and learns its assignment."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, uuid


class ShareGroupHeartbeatRequest(Message, key=76, versions=(1, 1), flexible=0):
    group_id: str
    member_id: str
    member_epoch: int32
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None


class ShareGroupHeartbeatResponse(Message, key=76, versions=(1, 1), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    assignment: Assignment | None = None


class Assignment(Struct):
    topic_partitions: tuple[TopicPartitions, ...]


class TopicPartitions(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]
