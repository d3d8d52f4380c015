"""`quorum-state`: the latest epoch that this node knows, who leads in it, and whom it voted for. JSON.

version 0, with static voters (kraft.version 0):
{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],
 "data_version":0}

version 1, where the voters are in the log (kraft.version 1):
{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}
"""

import json
from typing import Any, NamedTuple

from odradek.metadata.uuids import to_text
from odradek.model.errors import CorruptFile, NewerVersion
from odradek.model.numbers import NO_LEADER_EPOCH, LeaderEpoch
from odradek.process.files import Files, replace_file
from odradek.wire.schema import NO_UUID

NAME = "quorum-state"

_EPOCH_MAX = (1 << 31) - 1


class Vote(NamedTuple):
    epoch: LeaderEpoch = NO_LEADER_EPOCH
    leader_id: int = -1
    voters: tuple[int, ...] = ()
    """Only in version 0; empty where the file has none."""


def pack(vote: Vote, version: int) -> bytes:
    """The vote of a node that leads: whom it voted for matters no more."""
    if version == 0:
        fields: dict[str, Any] = {
            "clusterId": "",
            "leaderId": vote.leader_id,
            "leaderEpoch": vote.epoch,
            "votedId": -1,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in vote.voters],
        }
    else:
        fields = {
            "leaderId": vote.leader_id,
            "leaderEpoch": vote.epoch,
            "votedId": -1,
            "votedDirectoryId": to_text(NO_UUID),
        }
    return json.dumps({**fields, "data_version": version}, separators=(",", ":")).encode()


def parse(data: bytes, path: str) -> Vote:
    try:
        fields = json.loads(data)
        version = fields["data_version"]
        if version not in (0, 1):
            raise NewerVersion(f"{path}: data_version {version!r} is not known")
        voters = fields.get("currentVoters") or ()
        vote = Vote(
            LeaderEpoch(_int32(fields["leaderEpoch"])),
            _int32(fields["leaderId"]),
            tuple(_int32(voter["voterId"]) for voter in voters),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptFile(f"{path}: no state of a quorum: {error!r}") from None
    return vote


def _int32(value: object) -> int:
    if type(value) is not int or not -1 <= value <= _EPOCH_MAX:
        raise ValueError(f"{value!r} is no epoch and no id")
    return value


def read(files: Files, directory: str) -> Vote:
    """Epoch -1 where there is none yet."""
    path = f"{directory}/{NAME}"
    try:
        return parse(files.read_whole(path), path)
    except FileNotFoundError:
        return Vote()


def write(files: Files, directory: str, vote: Vote, version: int) -> None:
    replace_file(files, f"{directory}/{NAME}", pack(vote, version))
