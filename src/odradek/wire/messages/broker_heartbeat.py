"""BrokerHeartbeat: a broker is alive, and says what it wants."""

from __future__ import annotations

from odradek.wire.schema import Message, field, int16, int32, int64, uuid


class BrokerHeartbeatRequest(Message, key=63, versions=(0, 2), flexible=0):
    broker_id: int32
    broker_epoch: int64 = -1
    current_metadata_offset: int64
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[uuid, ...] = field(default=(), since=1, tag=0)
    cordoned_log_dirs: tuple[uuid, ...] | None = field(default=None, since=2, tag=1)


class BrokerHeartbeatResponse(Message, key=63, versions=(0, 2), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
