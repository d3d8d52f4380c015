"""The one record of a classic group: what is written of it, and the group that a record makes."""

from collections.abc import Mapping

from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.coordinators.groups.classic.member import ClassicMember, Protocol
from odradek.coordinators.result import Stored
from odradek.model.numbers import TimestampMs
from odradek.wire.records.classic_group import GroupMetadataKey, GroupMetadataValue, MemberMetadata

_VERSION = 3
"""Kafka 4.3 writes this one, though it reads the next."""


def made(group: ClassicGroup) -> Stored:
    """A group that did not exist before. Whoever joins it is in no generation yet."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=group.changed_ms,
        members=(),
    )
    return _stored(group, value)


def emptied(group: ClassicGroup, now_ms: TimestampMs) -> Stored:
    """The next generation has no members."""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation + 1,
        protocol=None,
        leader=None,
        current_state_timestamp=now_ms,
        members=(),
    )
    return _stored(group, value)


def assigned(group: ClassicGroup, assignments: Mapping[str, bytes]) -> Stored:
    """The generation with what its leader assigned: nothing, to those whom it left out."""
    members = tuple(
        _member(group, member, member.member_id, assignments.get(member.member_id, b""))
        for member in group.members.values()
    )
    return _stored(group, _with_members(group, group.leader, members))


def renamed(group: ClassicGroup, old_id: str, new_id: str) -> Stored:
    """The generation with another id for one of its static members."""
    members = tuple(
        _member(group, member, new_id if member.member_id == old_id else member.member_id, member.assignment)
        for member in group.members.values()
    )
    return _stored(group, _with_members(group, new_id if group.leader == old_id else group.leader, members))


def replay(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """The group is what the record says. What members said that is in no record stays, of those who stay."""
    if group.state is State.PREPARING_REBALANCE and group.members:
        return  # the record made the group, for those who are about to be its first generation
    for each in value.members:
        holder = group.static.get(each.group_instance_id) if each.group_instance_id is not None else None
        if holder is not None and holder != each.member_id:
            group.rename(holder, each.member_id)
    members = {each.member_id: _recorded(group, value, each) for each in value.members}
    group.members = members
    group.static = {each.instance_id: each.member_id for each in members.values() if each.instance_id is not None}
    group.pending.difference_update(members)
    group.unsynced.intersection_update(members)
    group.initial = None
    group.state = State.STABLE if members else State.EMPTY
    group.changed_ms = TimestampMs(value.current_state_timestamp)
    group.generation = value.generation
    group.protocol_type = value.protocol_type
    group.protocol = value.protocol
    group.is_unled = bool(members) and value.leader is None
    group.leader = value.leader if value.leader in members else next(iter(members), None)
    group.topics = group.subscribed_topics()


def _recorded(group: ClassicGroup, value: GroupMetadataValue, each: MemberMetadata) -> ClassicMember:
    rebalance_timeout_ms = each.session_timeout if each.rebalance_timeout == -1 else each.rebalance_timeout
    protocols = (Protocol(value.protocol or "", each.subscription),)
    known = group.members.get(each.member_id)
    if known is None:
        return ClassicMember(
            member_id=each.member_id,
            instance_id=each.group_instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            rebalance_timeout_ms=rebalance_timeout_ms,
            session_timeout_ms=each.session_timeout,
            protocols=protocols,
            assignment=each.assignment,
        )
    known.rebalance_timeout_ms = rebalance_timeout_ms
    known.session_timeout_ms = each.session_timeout
    known.assignment = each.assignment
    if known.metadata(value.protocol) != each.subscription:
        known.protocols = protocols
    return known


def _with_members(group: ClassicGroup, leader: str | None, members: tuple[MemberMetadata, ...]) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol,
        leader=leader,
        current_state_timestamp=group.changed_ms,
        members=members,
    )


def _member(group: ClassicGroup, member: ClassicMember, member_id: str, assignment: bytes) -> MemberMetadata:
    return MemberMetadata(
        member_id=member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol),
        assignment=assignment,
    )


def _stored(group: ClassicGroup, value: GroupMetadataValue) -> Stored:
    return Stored(GroupMetadataKey(group=group.group_id), value, _VERSION)
