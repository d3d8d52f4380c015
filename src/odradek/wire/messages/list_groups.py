"""ListGroups: the groups that a broker coordinates."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32


class ListGroupsRequest(Message, key=16, versions=(0, 5), flexible=3):
    states_filter: tuple[str, ...] = field(default=(), since=4)
    types_filter: tuple[str, ...] = field(default=(), since=5)


class ListGroupsResponse(Message, key=16, versions=(0, 5), flexible=3):
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    error_code: int16 = 0
    groups: tuple[ListedGroup, ...] = ()


class ListedGroup(Struct):
    group_id: str
    protocol_type: str
    group_state: str = field(default="", since=4, ignorable=True)
    group_type: str = field(default="", since=5, ignorable=True)
