"""Consumer groups (KIP-848), as records of `__consumer_offsets`."""

from __future__ import annotations

from odradek.wire.schema import BLANK, Message, Struct, field, int8, int32, int64, uuid


class ConsumerGroupMetadataKey(Message, key=3, versions=(0, 0)):
    group_id: str


class ConsumerGroupMetadataValue(Message, key=3, versions=(0, 0), flexible=0):
    epoch: int32
    metadata_hash: int64 = field(default=0, tag=0)


class ConsumerGroupPartitionMetadataKey(Message, key=4, versions=(0, 0)):
    group_id: str


class ConsumerGroupPartitionMetadataValue(Message, key=4, versions=(0, 0), flexible=0):
    topics: tuple[TopicMetadata, ...]


class TopicMetadata(Struct):
    topic_id: uuid
    topic_name: str
    num_partitions: int32
    partition_metadata: tuple[PartitionMetadata, ...]


class PartitionMetadata(Struct):
    partition: int32
    racks: tuple[str, ...]


class ConsumerGroupMemberMetadataKey(Message, key=5, versions=(0, 0)):
    group_id: str
    member_id: str


class ConsumerGroupMemberMetadataValue(Message, key=5, versions=(0, 0), flexible=0):
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int32 = -1
    server_assignor: str | None
    # Not null by default, as in Kafka, where whatever is not null makes the member one of the classic protocol.
    classic_member_metadata: ClassicMemberMetadata | None = field(default=BLANK, tag=0)


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int32 = 0
    supported_protocols: tuple[ClassicProtocol, ...] = ()


class ClassicProtocol(Struct):
    name: str
    metadata: bytes


class ConsumerGroupTargetAssignmentMetadataKey(Message, key=6, versions=(0, 0)):
    group_id: str


class ConsumerGroupTargetAssignmentMetadataValue(Message, key=6, versions=(0, 0), flexible=0):
    assignment_epoch: int32
    assignment_timestamp: int64 = field(default=0, tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Message, key=7, versions=(0, 0)):
    group_id: str
    member_id: str


class ConsumerGroupTargetAssignmentMemberValue(Message, key=7, versions=(0, 0), flexible=0):
    topic_partitions: tuple[TopicPartition, ...]


class TopicPartition(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]


class ConsumerGroupCurrentMemberAssignmentKey(Message, key=8, versions=(0, 0)):
    group_id: str
    member_id: str


class ConsumerGroupCurrentMemberAssignmentValue(Message, key=8, versions=(0, 0), flexible=0):
    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: tuple[TopicPartitions, ...]
    partitions_pending_revocation: tuple[TopicPartitions, ...]


class TopicPartitions(Struct):
    topic_id: uuid
    partitions: tuple[int32, ...]
    assignment_epochs: tuple[int32, ...] | None = field(default=(), tag=0)


class ConsumerGroupRegularExpressionKey(Message, key=16, versions=(0, 0)):
    group_id: str
    regular_expression: str


class ConsumerGroupRegularExpressionValue(Message, key=16, versions=(0, 0), flexible=0):
    topics: tuple[str, ...]
    version: int64
    timestamp: int64
