"""UpdateRaftVoter: new endpoints or versions of a voter."""

from __future__ import annotations

from odradek.wire.schema import BLANK, Message, Struct, field, int16, int32, uint16, uuid


class UpdateRaftVoterRequest(Message, key=82, versions=(0, 0), flexible=0):
    cluster_id: str | None
    current_leader_epoch: int32
    voter_id: int32
    voter_directory_id: uuid
    listeners: tuple[Listener, ...]
    kraft_version_feature: KRaftVersionFeature


class Listener(Struct):
    name: str
    host: str
    port: uint16


class KRaftVersionFeature(Struct):
    min_supported_version: int16
    max_supported_version: int16


class UpdateRaftVoterResponse(Message, key=82, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    current_leader: CurrentLeader = field(default=BLANK, tag=0)


class CurrentLeader(Struct):
    leader_id: int32 = -1
    leader_epoch: int32 = -1
    host: str = ""
    port: int32 = 0
