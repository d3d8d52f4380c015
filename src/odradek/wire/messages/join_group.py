"""JoinGroup: a member enters a rebalance of a classic group."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32


class JoinGroupRequest(Message, key=11, versions=(0, 9), flexible=6):
    group_id: str
    session_timeout_ms: int32
    rebalance_timeout_ms: int32 = field(default=-1, since=1, ignorable=True)
    member_id: str
    group_instance_id: str | None = field(default=None, since=5)
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: str | None = field(default=None, since=8, ignorable=True)


class JoinGroupRequestProtocol(Struct):
    name: str
    metadata: bytes


class JoinGroupResponse(Message, key=11, versions=(0, 9), flexible=6):
    throttle_time_ms: int32 = field(default=0, since=2, ignorable=True)
    error_code: int16 = 0
    generation_id: int32 = -1
    protocol_type: str | None = field(default=None, since=7, ignorable=True)
    protocol_name: str | None = field(default="", nullable=7)
    leader: str = ""
    skip_assignment: bool = field(default=False, since=9)
    member_id: str = ""
    members: tuple[JoinGroupResponseMember, ...] = ()


class JoinGroupResponseMember(Struct):
    member_id: str
    group_instance_id: str | None = field(default=None, since=5, ignorable=True)
    metadata: bytes
