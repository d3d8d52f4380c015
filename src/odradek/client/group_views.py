"""What coordinators say of groups, the same for both protocols."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from struct import Struct as Packing
from typing import TypeVar

from odradek.client.cluster import Coordinator
from odradek.model.errors import BadRequest
from odradek.model.topic_partition import TopicPartition
from odradek.wire.codec import decode
from odradek.wire.messages import consumer_group_describe as modern
from odradek.wire.messages import describe_groups as classic
from odradek.wire.records.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)

CLASSIC, CONSUMER = "classic", "consumer"
CONSUMERS = "consumer"
"""The protocol type of classic groups whose members are consumers: the bytes they pass on can be read."""

_VERSION = Packing(">h")
_CLASSIC_MEMBER = 0


@dataclass(frozen=True, slots=True)
class ListedGroup:
    group_id: str
    kind: str | None
    """classic, consumer, share or streams; None where the broker is too old to say."""
    state: str
    protocol_type: str
    """Empty for a group that never had members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    kind: str
    """classic or consumer: while a group moves between the protocols it has both."""
    epoch: int | None = None
    """None in classic groups."""
    topics: tuple[str, ...] = ()
    regex: str | None = None
    assignment: tuple[TopicPartition, ...] | None
    """None where it is not known: members that are no consumers have assignments of another kind."""
    target: tuple[TopicPartition, ...] | None = None
    """What it shall have; None in classic groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    group_id: str
    kind: str
    state: str
    protocol_type: str
    assignor: str
    """Empty while there is none."""
    epoch: int | None = None
    """None in classic groups: their generation is not told."""
    assignment_epoch: int | None = None
    coordinator: Coordinator
    members: tuple[MemberView, ...]
    """In the order of their ids."""

    def owners(self) -> dict[TopicPartition, MemberView]:
        return {each: member for member in self.members for each in member.assignment or ()}


def read_classic(group: classic.DescribedGroup, coordinator: Coordinator) -> GroupView:
    is_readable = group.protocol_type == CONSUMERS
    return GroupView(
        group_id=group.group_id,
        kind=CLASSIC,
        state=group.group_state,
        protocol_type=group.protocol_type,
        assignor=group.protocol_data,
        coordinator=coordinator,
        members=_in_order(_classic_member(each, is_readable=is_readable) for each in group.members),
    )


def _classic_member(member: classic.DescribedGroupMember, *, is_readable: bool) -> MemberView:
    subscription = _read(ConsumerProtocolSubscription, member.member_metadata) if is_readable else None
    assignment = _read(ConsumerProtocolAssignment, member.member_assignment) if is_readable else None
    owned: tuple[TopicPartition, ...] | None = () if is_readable and not member.member_assignment else None
    if assignment is not None:
        owned = _partitions({each.topic: each.partitions for each in assignment.assigned_partitions})
    return MemberView(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        kind=CLASSIC,
        topics=() if subscription is None else tuple(sorted(subscription.topics)),
        assignment=owned,
    )


def _read(kind: type[M], data: bytes) -> M | None:
    """None for what is empty, or was written by somebody who knows better."""
    try:
        (version,) = _VERSION.unpack_from(data) if len(data) >= _VERSION.size else (-1,)
        return decode(kind, min(version, kind.spec.versions[1]), data[_VERSION.size :]) if version >= 0 else None
    except BadRequest:
        return None


def read_modern(group: modern.DescribedGroup, coordinator: Coordinator) -> GroupView:
    return GroupView(
        group_id=group.group_id,
        kind=CONSUMER,
        state=group.group_state,
        protocol_type=CONSUMERS,
        assignor=group.assignor_name,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        coordinator=coordinator,
        members=_in_order(map(_modern_member, group.members)),
    )


def _modern_member(member: modern.Member) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        kind=CLASSIC if member.member_type == _CLASSIC_MEMBER else CONSUMER,
        epoch=member.member_epoch,
        topics=tuple(sorted(member.subscribed_topic_names)),
        regex=member.subscribed_topic_regex or None,
        assignment=_partitions({each.topic_name: each.partitions for each in member.assignment.topic_partitions}),
        target=_partitions({each.topic_name: each.partitions for each in member.target_assignment.topic_partitions}),
    )


def _in_order(members: Iterable[MemberView]) -> tuple[MemberView, ...]:
    return tuple(sorted(members, key=lambda member: member.member_id))


def _partitions(topics: Mapping[str, Iterable[int]]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers))
