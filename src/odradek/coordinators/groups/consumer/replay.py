"""What each record of a consumer group changes. Loading and service are the same to it."""

from collections.abc import Callable, Mapping
from typing import Any

from odradek.coordinators.groups.consumer.expressions import Matched
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import ConsumerMember
from odradek.model.numbers import TimestampMs
from odradek.wire.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from odradek.wire.schema import Message

_NO_EPOCH = -1


def _epoch(group: ConsumerGroup, _: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None) -> None:
    if value is not None:  # without one the group goes, which is not up to the group
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _partition_metadata(
    group: ConsumerGroup, _: ConsumerGroupPartitionMetadataKey, value: ConsumerGroupPartitionMetadataValue | None
) -> None:
    group.has_partition_metadata = value is not None


def _member(
    group: ConsumerGroup, key: ConsumerGroupMemberMetadataKey, value: ConsumerGroupMemberMetadataValue | None
) -> None:
    if value is None:
        group.remove_member(key.member_id)
    else:
        group.put_member(_known(group, key.member_id).described_by(value))


def _target_epoch(
    group: ConsumerGroup,
    _: ConsumerGroupTargetAssignmentMetadataKey,
    value: ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    if value is None:
        group.target_epoch, group.target_ms = _NO_EPOCH, TimestampMs(0)
    else:
        group.target_epoch, group.target_ms = value.assignment_epoch, TimestampMs(value.assignment_timestamp)


def _target(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        topics = {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}
        group.targets[key.member_id] = topics


def _assignment(
    group: ConsumerGroup,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    if value is not None:
        group.put_member(_known(group, key.member_id).assigned_by(value))
    elif key.member_id in group.members:
        group.put_member(group.members[key.member_id].emptied())


def _expression(
    group: ConsumerGroup, key: ConsumerGroupRegularExpressionKey, value: ConsumerGroupRegularExpressionValue | None
) -> None:
    if value is None:
        group.matched.pop(key.regular_expression, None)
    else:
        matched = Matched(frozenset(value.topics), value.version, TimestampMs(value.timestamp))
        group.matched[key.regular_expression] = matched


def _known(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """After compaction, the records of a member come in any order."""
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


REPLAY: Mapping[type[Message], Callable[[ConsumerGroup, Any, Any], None]] = {
    ConsumerGroupMetadataKey: _epoch,
    ConsumerGroupPartitionMetadataKey: _partition_metadata,
    ConsumerGroupMemberMetadataKey: _member,
    ConsumerGroupTargetAssignmentMetadataKey: _target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: _target,
    ConsumerGroupCurrentMemberAssignmentKey: _assignment,
    ConsumerGroupRegularExpressionKey: _expression,
}
"""By the class of the key."""
