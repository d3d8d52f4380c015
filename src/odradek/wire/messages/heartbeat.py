"""Heartbeat: a member of a classic group is alive."""

from __future__ import annotations

from odradek.wire.schema import Message, field, int16, int32


class HeartbeatRequest(Message, key=12, versions=(0, 4), flexible=4):
    group_id: str
    generation_id: int32
    member_id: str
    group_instance_id: str | None = field(default=None, since=3)


class HeartbeatResponse(Message, key=12, versions=(0, 4), flexible=4):
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    error_code: int16 = 0
