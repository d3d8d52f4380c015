"""DescribeGroups: a classic group as tools see it."""

from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember

_NOT_FOUND_SINCE = 6
_DEAD = "Dead"


def described(group: ClassicGroup) -> DescribedGroup:
    """What members said is told of a stable group only, since only then they go by one protocol."""
    protocol = group.protocol if group.state is State.STABLE else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=protocol or "",
        members=tuple(_member(member, protocol) for member in group.members.values()),
    )


def not_there(group_id: str, version: int) -> DescribedGroup:
    """No group, or none of this kind. Early versions call that a dead group."""
    is_told = version >= _NOT_FOUND_SINCE
    return DescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND if is_told else ErrorCode.NONE,
        error_message=f"There is no classic group {group_id}." if is_told else None,
        group_id=group_id,
        group_state=_DEAD,
        protocol_type="",
        protocol_data="",
        members=(),
    )


def _member(member: ClassicMember, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(protocol),
        member_assignment=member.assignment,
    )
