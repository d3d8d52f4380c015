"""The checkers of one node find what they are there for: each fault that is planted here shows within a few seeds."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from odradek.broker.fetching.pinned_slice import PinnedSlice
from odradek.broker.handlers import fetch
from odradek.coordinators.groups.offsets.offsets import Offsets
from odradek.net.framing import Framing
from odradek.storage.producer_state import ProducerState
from odradek.wire.messages.fetch import PartitionData
from support.disk import FaultyFile
from support.sim.one_node.run import run
from support.sim.violations import first_violation

SEEDS_MAX = 60

Fault = Callable[[pytest.MonkeyPatch], str]
"""Returns a part of what is to be found."""


def _without_syncs_of(patch: pytest.MonkeyPatch, part: str) -> None:
    sync = FaultyFile.sync
    patch.setattr(FaultyFile, "sync", lambda file: None if part in file.path else sync(file))


def records_not_synced(patch: pytest.MonkeyPatch) -> str:
    """Those of flush.messages=1 are acknowledged, and power loss takes them."""
    _without_syncs_of(patch, "/topic-1-")
    return "of topic-1-"


def metadata_not_synced(patch: pytest.MonkeyPatch) -> str:
    _without_syncs_of(patch, "__cluster_metadata-0/0")
    return "and should be"


def duplicates_taken(patch: pytest.MonkeyPatch) -> str:
    """A batch without a transaction that is sent again is written again."""
    admit = ProducerState.admit
    patch.setattr(ProducerState, "admit", lambda state, head: admit(state, head) if head.is_transactional else None)
    return "an idempotent producer left"


def offset_given_twice(patch: pytest.MonkeyPatch) -> str:
    """Some answers have another value in their last record."""
    read, counted = PinnedSlice.read, count(1)

    def other(part: PinnedSlice, position: int, size: int) -> bytes:
        data = read(part, position, size)
        is_chosen = "/topic-" in part._handle.path and next(counted) % 20 == 0
        return data[:-2] + b"X\0" if is_chosen else data

    patch.setattr(PinnedSlice, "read", other)
    return "is read as"


def high_watermark_forgotten(patch: pytest.MonkeyPatch) -> str:
    """Some fetches are told one that was reached long ago."""
    counted = count(1)

    def forgetful(**fields: Any) -> PartitionData:
        if next(counted) % 100 == 0:
            fields["high_watermark"] = max(fields["high_watermark"] - 20, 0)
            fields["records"] = None
        return PartitionData(**fields)

    patch.setattr(fetch, "PartitionData", forgetful)
    return "the high watermark of"


def answer_left_out(patch: pytest.MonkeyPatch) -> str:
    """The connection goes on, and what was asked before is never answered."""
    answered, counted = Framing.answered, count(1)

    def forgetful(framing: Framing) -> None:
        if next(counted) % 100 == 0:
            framing.replies[0].parts = ()
        answered(framing)

    patch.setattr(Framing, "answered", forgetful)
    return "waits since"


def commit_not_replayed(patch: pytest.MonkeyPatch) -> str:
    """An offset is forgotten as soon as it is written."""
    replay, counted = Offsets.replay, count(1)

    def forgetful(self: Offsets, *args: Any) -> None:
        if next(counted) % 3:
            replay(self, *args)

    patch.setattr(Offsets, "replay", forgetful)
    return "was committed last"


FAULTS: tuple[Fault, ...] = (
    records_not_synced,
    metadata_not_synced,
    duplicates_taken,
    offset_given_twice,
    high_watermark_forgotten,
    answer_left_out,
    commit_not_replayed,
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = fault(monkeypatch)
    violation = first_violation(run, range(1, SEEDS_MAX + 1))
    assert violation is not None, f"none of {SEEDS_MAX} seeds shows it"
    assert shown in violation, violation
