"""The records of a consumer group, made of what they are to say."""

from collections.abc import Iterator

from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.coordinators.groups.consumer.expressions import Matched
from odradek.coordinators.groups.consumer.member import ConsumerMember, Partitions
from odradek.coordinators.result import Stored
from odradek.model.numbers import TimestampMs
from odradek.wire.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Stored:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Stored(ConsumerGroupMetadataKey(group_id=group_id), value)


def no_group(group_id: str) -> Stored:
    return Stored(ConsumerGroupMetadataKey(group_id=group_id), None)


def no_partition_metadata(group_id: str) -> Stored:
    """Brokers before 4.1 wrote it: today there is a hash in its place."""
    return Stored(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member(group_id: str, described: ConsumerMember) -> Stored:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=described.instance_id,
        rack_id=described.rack_id,
        client_id=described.client_id,
        client_host=described.client_host,
        subscribed_topic_names=tuple(sorted(described.subscription.names)),
        subscribed_topic_regex=described.subscription.expression,
        rebalance_timeout_ms=described.rebalance_timeout_ms,
        server_assignor=described.server_assignor,
        classic_member_metadata=described.classic,
    )
    return Stored(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=described.member_id), value)


def no_member(group_id: str, member_id: str) -> tuple[Stored, ...]:
    """In this order: what a member has goes before the member."""
    return (no_assignment(group_id, member_id), no_target(group_id, member_id), no_description(group_id, member_id))


def no_description(group_id: str, member_id: str) -> Stored:
    return Stored(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def target(group_id: str, member_id: str, assignment: Assignment) -> Stored:
    topics = tuple(
        TopicPartition(topic_id=topic_id, partitions=tuple(sorted(partitions)))
        for topic_id, partitions in sorted(assignment.items())
    )
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return Stored(key, ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics))


def no_target(group_id: str, member_id: str) -> Stored:
    return Stored(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)


def target_epoch(group_id: str, epoch: int, assigned_ms: TimestampMs) -> Stored:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=assigned_ms)
    return Stored(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def no_target_epoch(group_id: str) -> Stored:
    return Stored(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


def assignment(group_id: str, assigned: ConsumerMember) -> Stored:
    """What the member has."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=assigned.epoch,
        previous_member_epoch=assigned.previous_epoch,
        state=assigned.state,
        assigned_partitions=tuple(_topics(assigned.assigned)),
        partitions_pending_revocation=tuple(_topics(assigned.revoking)),
    )
    return Stored(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=assigned.member_id), value)


def no_assignment(group_id: str, member_id: str) -> Stored:
    return Stored(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)


def expression(group_id: str, pattern: str, matched: Matched) -> Stored:
    value = ConsumerGroupRegularExpressionValue(
        topics=tuple(sorted(matched.topics)), version=matched.version, timestamp=matched.matched_ms
    )
    return Stored(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern), value)


def no_expression(group_id: str, pattern: str) -> Stored:
    return Stored(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern), None)


def _topics(partitions: Partitions) -> Iterator[TopicPartitions]:
    for topic_id, epochs in sorted(partitions.items()):
        numbers = tuple(sorted(epochs))
        yield TopicPartitions(
            topic_id=topic_id,
            partitions=numbers,
            assignment_epochs=tuple(epochs[number] for number in numbers),
        )
