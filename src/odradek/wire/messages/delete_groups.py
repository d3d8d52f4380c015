"""DeleteGroups: groups without members."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32


class DeleteGroupsRequest(Message, key=42, versions=(0, 2), flexible=2):
    groups_names: tuple[str, ...]


class DeleteGroupsResponse(Message, key=42, versions=(0, 2), flexible=2):
    throttle_time_ms: int32 = 0
    results: tuple[DeletableGroupResult, ...] = ()


class DeletableGroupResult(Struct):
    group_id: str
    error_code: int16 = 0
