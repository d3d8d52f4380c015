"""Who a heartbeat comes from, whether it may speak for this member, and how members go."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from odradek.coordinators.groups.consumer import records
from odradek.coordinators.groups.consumer.errors import FencedMemberEpoch, UnreleasedInstance
from odradek.coordinators.groups.consumer.group import ConsumerGroup, topics_of
from odradek.coordinators.groups.consumer.member import JOINING, LEAVING_FOR_A_WHILE, ConsumerMember, Partitions
from odradek.coordinators.groups.consumer.topics import TopicView
from odradek.coordinators.groups.errors import FencedInstance, GroupFull, UnknownMember
from odradek.coordinators.result import Stored
from odradek.wire.messages.consumer_group_heartbeat import TopicPartitions


def check_room(group: ConsumerGroup, member_id: str, size_max: int) -> None:
    if len(group.members) >= size_max and member_id not in group.members:
        raise GroupFull(f"group {group.group_id!r} has {len(group.members)} members, and may have {size_max}")


def check_epoch(member: ConsumerMember, epoch: int, owned: Sequence[TopicPartitions] | None) -> None:
    """Raises FencedMemberEpoch unless it is the member's own.

    The one before is good enough for a member that has nothing but what it was given: it missed our last answer.
    """
    if epoch in (JOINING, member.epoch):
        return
    if epoch == member.previous_epoch and epoch < member.epoch and _is_within(owned, member.assigned):
        return
    how = "smaller" if epoch < member.epoch else "greater"
    raise FencedMemberEpoch(
        f"Member {member.member_id} has a {how} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}): it must abandon all its partitions and rejoin"
    )


def static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Raises UnknownMember, and FencedInstance where another member has taken its place."""
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMember(f"Instance id {instance_id} is unknown in group {group.group_id}")
    if member.member_id != member_id:
        raise FencedInstance(
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}"
        )
    return member


def joining_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """A new one, or one that takes the place of its predecessor. Raises UnreleasedInstance while that one is there."""
    there = group.static_member(instance_id)
    if there is None:
        return group.members.get(member_id) or ConsumerMember(member_id=member_id)
    if there.classic is None and there.epoch != LEAVING_FOR_A_WHILE:
        raise UnreleasedInstance(
            f"Static member {member_id} with instance id {instance_id} cannot join the group: "
            f"the instance id is owned by member {there.member_id}"
        )
    return replace(there, member_id=member_id, epoch=JOINING, previous_epoch=JOINING)


def replacement(group: ConsumerGroup, member: ConsumerMember) -> Iterator[Stored]:
    """Puts a static member into the place of the one that is there, if there is any."""
    there = group.static_member(member.instance_id)
    if there is not None:
        yield from records.no_member(group.group_id, there.member_id)
        yield records.member(group.group_id, member)
        yield records.target(group.group_id, member.member_id, group.target(member))
        yield records.assignment(group.group_id, member)


def removal(group: ConsumerGroup, gone: Mapping[str, ConsumerMember], topics: TopicView) -> Iterator[Stored]:
    """Takes members out of the group, which calls for a new target."""
    for member_id in gone:
        yield from records.no_member(group.group_id, member_id)
    left = group.subscriptions_after(gone.values())
    wanted = {subscription.expression for subscription in left}
    for pattern in group.matched:
        if pattern not in wanted:
            yield records.no_expression(group.group_id, pattern)
    matched = {pattern: each for pattern, each in group.matched.items() if pattern in wanted}
    yield records.group_epoch(group.group_id, group.epoch + 1, topics.hash(topics_of(left, matched)))


def _is_within(owned: Sequence[TopicPartitions] | None, assigned: Partitions) -> bool:
    return owned is not None and all(
        topic.topic_id in assigned and assigned[topic.topic_id].keys() >= set(topic.partitions) for topic in owned
    )
