"""DescribeGroups: state and members of classic groups."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32


class DescribeGroupsRequest(Message, key=15, versions=(0, 6), flexible=5):
    groups: tuple[str, ...]
    include_authorized_operations: bool = field(default=False, since=3)


class DescribeGroupsResponse(Message, key=15, versions=(0, 6), flexible=5):
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    groups: tuple[DescribedGroup, ...] = ()


class DescribedGroup(Struct):
    error_code: int16 = 0
    error_message: str | None = field(default=None, since=6)
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: int32 = field(default=-(1 << 31), since=3)


class DescribedGroupMember(Struct):
    member_id: str
    group_instance_id: str | None = field(default=None, since=4, ignorable=True)
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes
