"""A consumer group as ConsumerGroupDescribe tells it."""

from collections.abc import Iterable, Mapping

from odradek.coordinators.groups.consumer.assignors.spec import NO_PARTITIONS
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import ConsumerMember
from odradek.metadata.image import Topics
from odradek.wire.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions
from odradek.wire.schema import uuid

_CLASSIC, _CONSUMER = 0, 1


def describe(group: ConsumerGroup, default_assignor: str, topics: Topics) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor() or default_assignor,
        members=tuple(_member(group, member, topics) for member in group.members.values()),
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> Member:
    has: dict[uuid, set[int]] = {}
    for partitions in (member.assigned, member.revoking):
        for topic_id, epochs in partitions.items():
            has.setdefault(topic_id, set()).update(epochs)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscription.names)),
        subscribed_topic_regex=member.subscription.expression,
        assignment=_assignment(has, topics),
        target_assignment=_assignment(group.targets.get(member.member_id, NO_PARTITIONS), topics),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(partitions: Mapping[uuid, Iterable[int]], topics: Topics) -> Assignment:
    """Without topics that were deleted: nobody knows their names."""
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(numbers)))
            for topic_id, numbers in sorted(partitions.items())
            if (topic := topics.by_id(topic_id)) is not None
        )
    )
