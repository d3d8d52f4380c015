"""LeaveGroup: members leave a classic group."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32


class LeaveGroupRequest(Message, key=13, versions=(0, 5), flexible=4):
    group_id: str
    member_id: str = field(default="", until=2)
    members: tuple[MemberIdentity, ...] = field(default=(), since=3)


class MemberIdentity(Struct):
    member_id: str
    group_instance_id: str | None = None
    reason: str | None = field(default=None, since=5, ignorable=True)


class LeaveGroupResponse(Message, key=13, versions=(0, 5), flexible=4):
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    error_code: int16 = 0
    members: tuple[MemberResponse, ...] = field(default=(), since=3)


class MemberResponse(Struct):
    member_id: str
    group_instance_id: str | None
    error_code: int16 = 0
