"""Control records: what brokers and controllers write into logs and snapshots for each other."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, int64, uint16, uuid


class ControlRecordTypeSchema(Message, versions=(0, 0)):
    type: int16


class EndTxnMarker(Message, versions=(0, 0)):
    coordinator_epoch: int32


class LeaderChangeMessage(Message, versions=(0, 1), flexible=0):
    version: int16
    leader_id: int32
    voters: tuple[LeaderChangeVoter, ...]
    granting_voters: tuple[LeaderChangeVoter, ...]


class LeaderChangeVoter(Struct):
    voter_id: int32
    voter_directory_id: uuid = field(default=NO_UUID, since=1)


class SnapshotHeaderRecord(Message, versions=(0, 0), flexible=0):
    version: int16
    last_contained_log_timestamp: int64


class SnapshotFooterRecord(Message, versions=(0, 0), flexible=0):
    version: int16


class KRaftVersionRecord(Message, versions=(0, 0), flexible=0):
    version: int16
    kraft_version: int16


class VotersRecord(Message, versions=(0, 0), flexible=0):
    version: int16
    voters: tuple[Voter, ...]


class Voter(Struct):
    voter_id: int32
    voter_directory_id: uuid
    endpoints: tuple[Endpoint, ...]
    kraft_version_feature: KRaftVersionFeature


class Endpoint(Struct):
    name: str
    host: str
    port: uint16


class KRaftVersionFeature(Struct):
    min_supported_version: int16
    max_supported_version: int16
