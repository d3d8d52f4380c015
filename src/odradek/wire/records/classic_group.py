"""Classic groups, as records of `__consumer_offsets`."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int32, int64


class GroupMetadataKey(Message, key=2, versions=(0, 0)):
    group: str


class GroupMetadataValue(Message, key=2, versions=(0, 4), flexible=4):
    protocol_type: str
    generation: int32
    protocol: str | None
    leader: str | None
    current_state_timestamp: int64 = field(default=-1, since=2, ignorable=True)
    members: tuple[MemberMetadata, ...]


class MemberMetadata(Struct):
    member_id: str
    group_instance_id: str | None = field(default=None, since=3, ignorable=True)
    client_id: str
    client_host: str
    rebalance_timeout: int32 = field(default=-1, since=1, ignorable=True)
    session_timeout: int32
    subscription: bytes
    assignment: bytes
