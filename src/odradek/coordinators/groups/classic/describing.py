"""DescribeGroups: a classic group as tools see it."""

from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember

_NOT_FOUND_SINCE = 6
_DEAD = "Dead"


def described(group: ClassicGroup, operations: int) -> DescribedGroup:
    """`operations` are what the client may do with it. What members said is told of a stable group only."""
    protocol = group.protocol if group.state is State.STABLE else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=protocol or "",
        members=tuple(_member(member, protocol) for member in group.members.values()),
        authorized_operations=operations,
    )


def not_there(group_id: str, version: int, operations: int) -> DescribedGroup:
    """No group, or none of this kind. To early versions that is a group like others, which is dead."""
    if version < _NOT_FOUND_SINCE:
        return DescribedGroup(
            group_id=group_id,
            group_state=_DEAD,
            protocol_type="",
            protocol_data="",
            members=(),
            authorized_operations=operations,
        )
    return DescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=f"Group {group_id} not found.",
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
