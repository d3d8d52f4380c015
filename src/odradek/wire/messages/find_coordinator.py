"""FindCoordinator: which broker coordinates a group, a transactional id or a share partition."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32


class FindCoordinatorRequest(Message, key=10, versions=(0, 6), flexible=3):
    key: str = field(default="", until=3)
    key_type: int8 = field(default=0, since=1)
    coordinator_keys: tuple[str, ...] = field(default=(), since=4)


class FindCoordinatorResponse(Message, key=10, versions=(0, 6), flexible=3):
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    error_code: int16 = field(default=0, until=3)
    error_message: str | None = field(default="", since=1, until=3, ignorable=True)
    node_id: int32 = field(default=0, until=3)
    host: str = field(default="", until=3)
    port: int32 = field(default=0, until=3)
    coordinators: tuple[Coordinator, ...] = field(default=(), since=4)


class Coordinator(Struct):
    key: str
    node_id: int32
    host: str
    port: int32
    error_code: int16 = 0
    error_message: str | None = None
