"""What the metadata log has beside its segments: snapshots, which are files of batches too, and `quorum-state`."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.process.files import File
from odradek.records.batch import BatchHead
from odradek.records.control import ControlType, control_type
from odradek.records.record import read_records
from odradek.storage.verify.findings import Finding, Run, error, from_os, note
from odradek.storage.verify.stored import check_metadata
from odradek.storage.verify.walk import Damage, walk

STATE = "quorum-state"
PARTIAL = ".checkpoint.part"
DELETED = ".checkpoint.deleted"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_STATE_FIELDS = {
    0: {"clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters", "data_version"},
    1: {"leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "data_version"},
}


class SnapshotName(NamedTuple):
    end_offset: Offset
    epoch: LeaderEpoch


def parse_name(name: str) -> SnapshotName | None:
    """`<end offset>-<epoch>.checkpoint`; None where a name has another form."""
    match = _NAME.fullmatch(name)
    return SnapshotName(Offset(int(match[1])), LeaderEpoch(int(match[2]))) if match else None


class SnapshotCheck:
    def __init__(self, run: Run, path: str, epoch: LeaderEpoch, *, in_use: bool) -> None:
        self._run = run
        self._path = path
        self._epoch = epoch
        self._in_use = in_use
        self._next_offset = Offset(0)
        self._last_kind: int | None = None

    def run(self) -> Iterator[Finding]:
        try:
            file = self._run.files.open_to_read(self._path)
            try:
                yield from self._read(file)
            finally:
                file.close()
        except OSError as problem:
            yield from_os(self._path, problem, self._in_use)
        self._run.tally.files += 1

    def _read(self, file: File) -> Iterator[Finding]:
        size, whole = file.size(), True
        for each in walk(file, size, Offset(0), self._run.advance):
            if isinstance(each, Damage):
                whole = False
                yield error(self._path, each.text, each.position)
                continue
            position, head, batch = each
            if whole and head.base_offset != self._next_offset:
                yield error(self._path, f"offset {head.base_offset}, where {self._next_offset} is next", position)
            if head.leader_epoch != self._epoch:
                yield error(self._path, f"epoch {head.leader_epoch} in a snapshot of epoch {self._epoch}", position)
            kinds: list[int] = []
            with suppress(CorruptBatch):  # which the check of all records tells
                kinds = _control_kinds(head, batch)
            yield from check_metadata(self._path, position, head, batch)
            self._last_kind = kinds[-1] if kinds else None
            if position == 0 and kinds[:1] != [ControlType.SNAPSHOT_HEADER]:  # the voters may follow in the same batch
                yield error(self._path, "does not begin with the header of a snapshot", position)
            self._next_offset = head.next_offset
            self._run.tally.batches += 1
            self._run.tally.records += head.count
        if whole and self._last_kind != ControlType.SNAPSHOT_FOOTER:
            yield error(self._path, "ends without the footer of a snapshot: it is not complete", size)


def _control_kinds(head: BatchHead, batch: memoryview) -> list[int]:
    """The types of a control batch's records; none for other batches."""
    return [control_type(record.key) for record in read_records(batch, head)] if head.is_control else []


def check_state(run: Run, path: str, log_epoch: LeaderEpoch, *, in_use: bool) -> Iterator[Finding]:
    """`log_epoch` is the last one in the metadata log."""
    try:
        data = run.files.read_whole(path)
    except OSError as problem:
        yield from_os(path, problem, in_use)
        return
    run.tally.files += 1
    try:
        state = json.loads(data)
    except ValueError as problem:
        yield error(path, f"not JSON: {problem}")
        return
    version = state.get("data_version") if isinstance(state, dict) else None
    known = _STATE_FIELDS.get(version) if isinstance(version, int) else None
    if known is None:
        yield error(path, f"data_version {version} is not known")
        return
    epoch = state.get("leaderEpoch")
    if not isinstance(epoch, int) or epoch < 0:
        yield error(path, f"leaderEpoch {epoch!r} is no epoch")
    elif epoch < log_epoch:
        yield error(path, f"leaderEpoch {epoch}, while the log has records of epoch {log_epoch}")
    if unknown := sorted(set(state) - known):
        yield note(path, f"fields that are not known: {', '.join(unknown)}")
