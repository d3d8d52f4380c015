"""AddRaftVoter: a new voter for the quorum."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, uint16, uuid


class AddRaftVoterRequest(Message, key=80, versions=(0, 1), flexible=0):
    cluster_id: str | None
    timeout_ms: int32
    voter_id: int32
    voter_directory_id: uuid
    listeners: tuple[Listener, ...]
    ack_when_committed: bool = field(default=True, since=1)


class Listener(Struct):
    name: str
    host: str
    port: uint16


class AddRaftVoterResponse(Message, key=80, versions=(0, 1), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
