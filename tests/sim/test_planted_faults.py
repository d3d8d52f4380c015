"""The checkers find what they are there for: each fault that is planted here shows within a few seeds."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.groups import ClassicGroups
from odradek.coordinators.groups.classic.rebalancing import Rebalancing
from odradek.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.ownership import Ownership
from odradek.coordinators.groups.consumer.reconciliation import Reconciliation
from odradek.coordinators.groups.offsets.offsets import Offsets
from odradek.coordinators.groups.shard import GroupShard
from support.sim.groups.run import run
from support.sim.violations import first_violation

SEEDS_MAX = 40
"""Most show at once. What coordinators do draws on the same chance as churn, so that a change of theirs changes which
seed shows what."""

Fault = Callable[[pytest.MonkeyPatch], None]


def no_fence_in_generations(patch: pytest.MonkeyPatch) -> None:
    """A commit is taken from anybody, whether or not it is a member of this generation."""
    patch.setattr(ClassicGroup, "check_commit", lambda *_, **__: None)


def no_fence_in_epochs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerGroup, "check_commit", lambda *_, **__: None)


def session_not_moved(patch: pytest.MonkeyPatch) -> None:
    """Signs of life do not count."""
    beat = ClassicGroups._heartbeat

    def unheard(self: ClassicGroups, request: Any) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self._rebalancing, "reschedule_session", lambda *_: None)
            beat(self, request)

    patch.setattr(ClassicGroups, "_heartbeat", unheard)
    patch.setattr(ClassicGroups, "count_as_heartbeat", lambda *_: None)


def sessions_not_begun_when_loaded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerGroups, "schedule_timers", lambda *_: None)


def generation_not_raised(patch: pytest.MonkeyPatch) -> None:
    proceed = Rebalancing._next_generation

    def stay(self: Rebalancing, group: ClassicGroup) -> Any:
        group.generation -= 1
        return proceed(self, group)

    patch.setattr(Rebalancing, "_next_generation", stay)


def partition_given_before_it_is_free(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ownership, "owner", lambda *_: None)


def revocation_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciliation, "_owns", lambda *_: False)


def topics_not_noticed(patch: pytest.MonkeyPatch) -> None:
    change = GroupShard.topics_changed

    def unnoticed(self: GroupShard, *args: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(ConsumerGroup, "call_for_check", lambda _: None)
            return change(self, *args)

    patch.setattr(GroupShard, "topics_changed", unnoticed)


def record_not_replayed(patch: pytest.MonkeyPatch) -> None:
    """The offsets of one partition are forgotten as soon as they are written."""
    replay = Offsets.replay

    def forgetful(self: Offsets, offset: Any, key: Any, *args: Any) -> None:
        if key.partition:
            replay(self, offset, key, *args)

    patch.setattr(Offsets, "replay", forgetful)


FAULTS: tuple[Fault, ...] = (
    no_fence_in_generations,
    no_fence_in_epochs,
    session_not_moved,
    sessions_not_begun_when_loaded,
    generation_not_raised,
    partition_given_before_it_is_free,
    revocation_not_waited_for,
    topics_not_noticed,
    record_not_replayed,
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    violation = first_violation(run, range(1, SEEDS_MAX + 1))
    assert violation is not None, f"none of {SEEDS_MAX} seeds shows it"
    assert "Traceback" not in violation, violation
