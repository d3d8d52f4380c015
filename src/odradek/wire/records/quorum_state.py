"""The fields of a quorum-state file, which holds them as JSON."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int32, int64, uuid


class QuorumStateData(Message, versions=(0, 1), flexible=0):
    cluster_id: str = field(default="", until=0)
    leader_id: int32 = -1
    leader_epoch: int32 = -1
    voted_id: int32 = -1
    voted_directory_id: uuid = field(default=NO_UUID, since=1)
    applied_offset: int64 = field(default=0, until=0)
    current_voters: tuple[Voter, ...] | None = field(default=(), until=0)


class Voter(Struct):
    voter_id: int32
