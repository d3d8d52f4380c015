"""Control records in one line each: transaction markers by themselves, the quorum's records as JSON."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any
from uuid import UUID

from odradek.records.control import (
    ControlType,
    LeaderChangeVoter,
    Voter,
    control_type,
    read_coordinator_epoch,
    read_kraft_version,
    read_leader_change,
    read_snapshot_footer,
    read_snapshot_header,
    read_voters,
)
from odradek.records.record import Record


def describe(record: Record) -> str:
    """Raises CorruptBatch where the record makes no sense. A kind that is not known is named by its number."""
    kind = control_type(record.key)
    value = record.value or b""
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        return f"endTxnMarker: {ControlType(kind).name} coordinatorEpoch: {read_coordinator_epoch(record.value)}"
    if kind not in _QUORUM:
        return f"controlType: UNKNOWN({kind})"
    title, read = _QUORUM[ControlType(kind)]
    return f"{title} {json.dumps(read(value), ensure_ascii=False, separators=(',', ':'))}"


def _leader_change(value: bytes) -> dict[str, Any]:
    change = read_leader_change(value)
    return {
        "version": change.version,
        "leaderId": change.leader_id,
        "voters": [_leader_change_voter(voter) for voter in change.voters],
        "grantingVoters": [_leader_change_voter(voter) for voter in change.granting_voters],
    }


def _leader_change_voter(voter: LeaderChangeVoter) -> dict[str, Any]:
    if voter.directory_id is None:
        return {"voterId": voter.id}
    return {"voterId": voter.id, "voterDirectoryId": _uuid(voter.directory_id)}


def _snapshot_header(value: bytes) -> dict[str, Any]:
    header = read_snapshot_header(value)
    return {"version": header.version, "lastContainedLogTimestamp": header.last_contained_log_timestamp}


def _snapshot_footer(value: bytes) -> dict[str, Any]:
    return {"version": read_snapshot_footer(value).version}


def _kraft_version(value: bytes) -> dict[str, Any]:
    record = read_kraft_version(value)
    return {"version": record.version, "kRaftVersion": record.kraft_version}


def _voters(value: bytes) -> dict[str, Any]:
    record = read_voters(value)
    return {"version": record.version, "voters": [_voter(voter) for voter in record.voters]}


def _voter(voter: Voter) -> dict[str, Any]:
    return {
        "voterId": voter.id,
        "voterDirectoryId": _uuid(voter.directory_id),
        "endpoints": [{"name": each.name, "host": each.host, "port": each.port} for each in voter.endpoints],
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.kraft_version_min,
            "maxSupportedVersion": voter.kraft_version_max,
        },
    }


def _uuid(uuid: UUID) -> str:
    return urlsafe_b64encode(uuid.bytes).rstrip(b"=").decode()


_QUORUM: dict[ControlType, tuple[str, Callable[[bytes], dict[str, Any]]]] = {
    ControlType.LEADER_CHANGE: ("LeaderChange:", _leader_change),
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", _snapshot_header),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", _snapshot_footer),
    ControlType.KRAFT_VERSION: ("KRaftVersion", _kraft_version),
    ControlType.KRAFT_VOTERS: ("KRaftVoters", _voters),
}
