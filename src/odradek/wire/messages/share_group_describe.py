"""ShareGroupDescribe: state and members of share groups."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, uuid


class ShareGroupDescribeRequest(Message, key=77, versions=(1, 1), flexible=0):
    group_ids: tuple[str, ...]
    include_authorized_operations: bool


class ShareGroupDescribeResponse(Message, key=77, versions=(1, 1), flexible=0):
    throttle_time_ms: int32 = 0
    groups: tuple[DescribedGroup, ...] = ()


class DescribedGroup(Struct):
    error_code: int16 = 0
    error_message: str | None = None
    group_id: str
    group_state: str
    group_epoch: int32
    assignment_epoch: int32
    assignor_name: str
    members: tuple[Member, ...]
    authorized_operations: int32 = -(1 << 31)


class Member(Struct):
    member_id: str
    rack_id: str | None = None
    member_epoch: int32
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: Assignment


class Assignment(Struct):
    topic_partitions: tuple[TopicPartitions, ...]


class TopicPartitions(Struct):
    topic_id: uuid
    topic_name: str
    partitions: tuple[int32, ...]
