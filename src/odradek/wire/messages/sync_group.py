"""SyncGroup: the leader hands out assignments, every member gets its own."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32


class SyncGroupRequest(Message, key=14, versions=(0, 5), flexible=4):
    group_id: str
    generation_id: int32
    member_id: str
    group_instance_id: str | None = field(default=None, since=3)
    protocol_type: str | None = field(default=None, since=5, ignorable=True)
    protocol_name: str | None = field(default=None, since=5, ignorable=True)
    assignments: tuple[SyncGroupRequestAssignment, ...]


class SyncGroupRequestAssignment(Struct):
    member_id: str
    assignment: bytes


class SyncGroupResponse(Message, key=14, versions=(0, 5), flexible=4):
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    error_code: int16 = 0
    protocol_type: str | None = field(default=None, since=5, ignorable=True)
    protocol_name: str | None = field(default=None, since=5, ignorable=True)
    assignment: bytes = b""
