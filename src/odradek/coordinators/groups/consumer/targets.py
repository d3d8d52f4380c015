"""The target of a group: who should have which partition, once everybody has given back what others should have."""

from collections.abc import Mapping

from odradek.coordinators.groups.consumer.assignors.spec import (
    NO_PARTITIONS,
    Assignment,
    Assignor,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)
from odradek.coordinators.groups.consumer.expressions import Matched
from odradek.coordinators.groups.consumer.group import topics_of
from odradek.coordinators.groups.consumer.member import ConsumerMember, Subscription
from odradek.coordinators.groups.consumer.topics import TopicView
from odradek.model.numbers import TimestampMs


def next_target(
    members: Mapping[str, ConsumerMember],
    targets: Mapping[str, Assignment],
    matched: Mapping[str, Matched],
    topics: TopicView,
    assignor: Assignor,
) -> GroupAssignment:
    """Of all these members. `targets` is what they should have until now."""
    subscribed: dict[Subscription, frozenset[bytes]] = {}
    specs = {}
    for member_id, member in members.items():
        wanted = member.subscription
        if wanted not in subscribed:
            subscribed[wanted] = topics.ids(topics_of((wanted,), matched))
        specs[member_id] = MemberSpec(subscribed[wanted], targets.get(member_id, NO_PARTITIONS), member.instance_id)
    by_id = topics.image.topics.ids
    partitions = {topic_id: len(by_id[topic_id].partitions) for wanted in subscribed.values() for topic_id in wanted}
    return assignor(GroupSpec(specs, partitions))


def is_due(assigned_ms: TimestampMs, interval_ms: int, now_ms: TimestampMs) -> bool:
    """Whether it is time for another target. Changes that come close together share one."""
    # A time to come is of a clock that was set back since: nobody should wait until it is there again.
    return assigned_ms == 0 or not assigned_ms <= now_ms < assigned_ms + interval_ms
