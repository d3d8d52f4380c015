"""RemoveRaftVoter: one voter less for the quorum."""

from __future__ import annotations

from odradek.wire.schema import Message, int16, int32, uuid


class RemoveRaftVoterRequest(Message, key=81, versions=(0, 0), flexible=0):
    cluster_id: str | None
    voter_id: int32
    voter_directory_id: uuid


class RemoveRaftVoterResponse(Message, key=81, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
