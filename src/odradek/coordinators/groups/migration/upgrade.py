"""A classic group becomes a consumer group: its members stay, with what they have, and go on in their protocol."""

from collections.abc import Mapping

from odradek.coordinators.groups.classic.group import CONSUMER, ClassicGroup, State
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.coordinators.groups.consumer import records
from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.coordinators.groups.consumer.member import ConsumerMember, Partitions, Subscription
from odradek.coordinators.groups.consumer.topics import TopicView
from odradek.coordinators.groups.embedded import by_id, read_assignment, read_subscription
from odradek.coordinators.groups.errors import GroupNotFound
from odradek.coordinators.result import Stored
from odradek.metadata.image import Topics
from odradek.model.broker_config import BrokerConfig
from odradek.model.errors import BadRequest
from odradek.model.numbers import TimestampMs
from odradek.wire.records.consumer_group import ClassicMemberMetadata, ClassicProtocol
from odradek.wire.records.consumer_protocol import ConsumerProtocolSubscription

_POLICIES = ("upgrade", "bidirectional")
_OWN = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""Assignors that clients bring along. None of them reads what comes with an assignment, though librdkafka sends back
there what members told, and Kafka then takes its sticky ones for others."""
_NEVER = TimestampMs(0)
"""So that the first target of the new group need not wait."""


def check_upgrade(group: ClassicGroup, config: BrokerConfig) -> None:
    """Raises GroupNotFound where the group has to stay what it is."""
    if config.group_consumer_migration_policy.lower() not in _POLICIES:
        raise GroupNotFound(_cannot(group, "group.consumer.migration.policy does not allow it"))
    if group.protocol_type != CONSUMER:
        raise GroupNotFound(_cannot(group, "the group does not use the consumer embedded protocol"))
    if len(group.members) > config.group_consumer_max_size:
        raise GroupNotFound(_cannot(group, "it has more members than group.consumer.max.size"))


def _cannot(group: ClassicGroup, reason: str) -> str:
    return f"Cannot upgrade classic group {group.group_id} to consumer group: {reason}"


def _malformed(group: ClassicGroup, what: str) -> str:
    return _cannot(group, f"the embedded consumer protocol is malformed, {what}")


def upgraded(group: ClassicGroup, topics: TopicView) -> tuple[Stored, ...]:
    """The records that make a consumer group of it, in the epoch that its generation was.

    Raises GroupNotFound where what its members told cannot be read, or would be lost.
    """
    group_id, epoch = group.group_id, group.generation
    subscriptions = {member.member_id: _subscription(group, member) for member in group.members.values()}
    targets = _held(group, subscriptions, topics.image.topics)
    members = [
        _member(group, member, subscriptions[member.member_id], targets[member.member_id])
        for member in group.members.values()
    ]
    names = frozenset().union(*(member.subscription.names for member in members))
    return (
        *group.tombstones(),
        *(records.member(group_id, member) for member in members),
        # A rebalance that was under way becomes a new target, even if the new member calls for none.
        records.group_epoch(group_id, epoch + (group.state is not State.STABLE), topics.hash(names)),
        *(records.target(group_id, member_id, target) for member_id, target in targets.items()),
        records.target_epoch(group_id, epoch, _NEVER),
        *(records.assignment(group_id, member) for member in members),
    )


def _held(
    group: ClassicGroup, subscriptions: Mapping[str, ConsumerProtocolSubscription], topics: Topics
) -> dict[str, Assignment]:
    """What members have: what they were assigned, and what they said that they had when they joined.

    In between the two, members of a cooperative assignor have what they are about to give back, and a generation that
    ended too early was assigned nothing. Kafka goes by the assignment alone, and gives such partitions to others.
    """
    held = {member.member_id: _assigned(group, member, topics) for member in group.members.values()}
    taken = [(topic_id, number) for each in held.values() for topic_id in each for number in each[topic_id]]
    if len(set(taken)) < len(taken):
        raise GroupNotFound(_cannot(group, "two of its members share a partition"))
    owners = set(taken)
    for member_id, subscription in subscriptions.items():
        for topic_id, numbers in by_id(subscription.owned_partitions, topics).items():
            free = frozenset(number for number in numbers if (topic_id, number) not in owners)
            if free:
                held[member_id] = {**held[member_id], topic_id: held[member_id].get(topic_id, frozenset()) | free}
                owners.update((topic_id, number) for number in free)
    return held


def _assigned(group: ClassicGroup, member: ClassicMember, topics: Topics) -> Assignment:
    try:
        assignment = read_assignment(member.assignment)
    except BadRequest as error:
        raise GroupNotFound(_malformed(group, f"the assignment of {member.member_id}: {error}")) from None
    if assignment.user_data and group.protocol not in _OWN:
        raise GroupNotFound(_cannot(group, "its assignor tells members more than partitions"))
    return by_id(assignment.assigned_partitions, topics)


def _subscription(group: ClassicGroup, member: ClassicMember) -> ConsumerProtocolSubscription:
    # Before its first generation a group has agreed on nothing.
    protocol = group.elect_protocol() if group.protocol is None else group.protocol
    try:
        return read_subscription(member.metadata(protocol))
    except BadRequest as error:
        raise GroupNotFound(_malformed(group, f"the subscription of {member.member_id}: {error}")) from None


def _member(
    group: ClassicGroup, member: ClassicMember, subscription: ConsumerProtocolSubscription, target: Assignment
) -> ConsumerMember:
    assigned: Partitions = {topic_id: dict.fromkeys(numbers, group.generation) for topic_id, numbers in target.items()}
    return ConsumerMember(
        member_id=member.member_id,
        epoch=group.generation,
        previous_epoch=group.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscription=Subscription(frozenset(subscription.topics)),
        assigned=assigned,
        classic=ClassicMemberMetadata(
            session_timeout_ms=member.session_timeout_ms,
            supported_protocols=tuple(
                ClassicProtocol(name=known.name, metadata=known.metadata) for known in member.protocols
            ),
        ),
    )
