"""Answers to members of classic groups."""

from collections.abc import Iterator

from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.coordinators.result import Answer
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from odradek.wire.messages.sync_group import SyncGroupResponse

_NAME_NULLABLE_SINCE = 7


def joined(group: ClassicGroup, member_id: str, members: tuple[JoinGroupResponseMember, ...] = ()) -> JoinGroupResponse:
    """The generation as it is. Only its leader is told of the members."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        member_id=member_id,
        members=members,
    )


def members_of(group: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    return tuple(
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol),
        )
        for member in group.members.values()
    )


def join_refused(version: int, code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    protocol = None if version >= _NAME_NULLABLE_SINCE else ""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=protocol)


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment)


def answers_to_waiting(member: ClassicMember, code: ErrorCode, member_id: str) -> Iterator[Answer]:
    """Whatever the member waits for, it waits no longer."""
    if member.joining is not None:
        yield Answer(member.joining.ticket, join_refused(member.joining.version, code, member_id))
    if member.syncing is not None:
        yield Answer(member.syncing.ticket, SyncGroupResponse(error_code=code))
    member.joining = member.syncing = None
