"""Share groups (KIP-932), as records of `__consumer_offsets`."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int32, int64, uuid


class ShareGroupMemberMetadataKey(Message, key=10, versions=(0, 0)):
    group_id: str
    member_id: str


class ShareGroupMemberMetadataValue(Message, key=10, versions=(0, 0), flexible=0):
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]


class ShareGroupMetadataKey(Message, key=11, versions=(0, 0)):
    group_id: str


class ShareGroupMetadataValue(Message, key=11, versions=(0, 0), flexible=0):
    epoch: int32
    metadata_hash: int64


class ShareGroupTargetAssignmentMetadataKey(Message, key=12, versions=(0, 0)):
    group_id: str


class ShareGroupTargetAssignmentMetadataValue(Message, key=12, versions=(0, 0), flexible=0):
    assignment_epoch: int32
    assignment_timestamp: int64 = field(default=0, tag=0)


class ShareGroupTargetAssignmentMemberKey(Message, key=13, versions=(0, 0)):
    group_id: str
    member_id: str


class ShareGroupTargetAssignmentMemberValue(Message, key=13, versions=(0, 0), flexible=0):
    topic_partitions: tuple[TopicPartition, ...]


class TopicPartition(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]


class ShareGroupCurrentMemberAssignmentKey(Message, key=14, versions=(0, 0)):
    group_id: str
    member_id: str


class ShareGroupCurrentMemberAssignmentValue(Message, key=14, versions=(0, 0), flexible=0):
    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: tuple[TopicPartitions, ...]


class TopicPartitions(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]


class ShareGroupStatePartitionMetadataKey(Message, key=15, versions=(0, 0)):
    group_id: str


class ShareGroupStatePartitionMetadataValue(Message, key=15, versions=(0, 0), flexible=0):
    initializing_topics: tuple[TopicPartitionsInfo, ...]
    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[TopicInfo, ...]


class TopicPartitionsInfo(Struct):
    topic_id: uuid
    topic_name: str
    partitions: tuple[int32, ...]


class TopicInfo(Struct):
    topic_id: uuid
    topic_name: str
