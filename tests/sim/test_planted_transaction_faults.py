"""The checkers of transactions find what they are there for: each fault that is planted here shows soon."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from odradek.broker.coordination.markers import Markers
from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.offsets.offsets import Offsets
from odradek.coordinators.groups.offsets.pending import PendingOffsets
from odradek.coordinators.result import NOTHING
from odradek.coordinators.transactions import ending, joining, shard
from odradek.coordinators.transactions.shard import TransactionShard
from odradek.coordinators.transactions.transaction import Claim, Transaction
from odradek.model.numbers import NO_PRODUCER_ID, ProducerId
from odradek.records.batch import BatchHead
from odradek.replication.waiters import Unsettled
from odradek.storage.log import Log
from odradek.storage.producer_state import NotedBatch, ProducerState
from support.sim.transactions.run import run
from support.sim.violations import first_violation

SEEDS_MAX = 100
SEEDS = dict.fromkeys((1, 19, 11, *range(1, SEEDS_MAX + 1)))
"""Most show at once; those that need one that is further on are tried with it first."""

Fault = Callable[[pytest.MonkeyPatch], None]


def marker_left_out(patch: pytest.MonkeyPatch) -> None:
    """The last partition of a transaction does not hear of its end."""
    perform = Markers.perform

    def forgetful(self: Markers, transactions: Any, number: int, effect: Any) -> None:
        kept = effect.partitions[:-1] if len(effect.partitions) > 2 else effect.partitions
        perform(self, transactions, number, effect._replace(partitions=kept))

    patch.setattr(Markers, "perform", forgetful)


def abort_marked_as_commit(patch: pytest.MonkeyPatch) -> None:
    """In the last of several partitions."""
    write = Markers.write

    def mistaken(self: Markers, partition: Any, marker: Any) -> Unsettled | None:
        return write(self, partition, marker._replace(commit=marker.commit or partition.partition == 1))

    patch.setattr(Markers, "write", mistaken)


def epoch_not_raised(patch: pytest.MonkeyPatch) -> None:
    """Whoever takes over a transactional id has the epoch of the one before."""
    restarted = Transaction.restarted

    def stay(self: Transaction, timeout_ms: int, epoch: int, now: Any) -> Transaction:
        return restarted(self, timeout_ms, max(self.epoch, 0), now)

    patch.setattr(Transaction, "restarted", stay)


def epoch_not_raised_with_each_transaction(patch: pytest.MonkeyPatch) -> None:
    """As of KIP-890: what comes late of one is then taken for part of the next."""
    prepared = Transaction.prepared

    def stay(self: Transaction, **kwargs: Any) -> Transaction:
        return prepared(self, **kwargs)._replace(epoch=self.epoch)

    patch.setattr(Transaction, "prepared", stay)


def no_fence_at_the_coordinator(patch: pytest.MonkeyPatch) -> None:
    """Whoever had a transactional id before may go on with it."""

    def current(known: Transaction, who: Claim) -> Claim:
        return who._replace(epoch=known.epoch) if who.epoch < known.epoch - 1 else who

    check, prepared = joining.check_claim, ending.is_to_be_prepared
    patch.setattr(shard, "check_claim", lambda known, who: check(known, current(known, who)))
    patch.setattr(
        shard,
        "is_to_be_prepared",
        lambda known, who, *args, **kwargs: prepared(known, current(known, who), *args, **kwargs),
    )


def no_fence_at_partitions(patch: pytest.MonkeyPatch) -> None:
    """Batches of an older epoch are taken, and the coordinator is not asked about them."""
    is_due, has_open, admit = ProducerState.is_verification_due, ProducerState.has_open_txn, ProducerState.admit

    def is_older(state: ProducerState, producer_id: ProducerId, epoch: int) -> bool:
        producer = state.get(producer_id)
        return producer is not None and epoch < producer.epoch

    def due(self: ProducerState, producer_id: ProducerId, epoch: int, *args: Any, **kwargs: Any) -> bool:
        return not is_older(self, producer_id, epoch) and is_due(self, producer_id, epoch, *args, **kwargs)

    def opened(self: ProducerState, producer_id: ProducerId, epoch: int) -> bool:
        return is_older(self, producer_id, epoch) or has_open(self, producer_id, epoch)

    def admitted(self: ProducerState, head: BatchHead) -> NotedBatch | None:
        return None if is_older(self, head.producer_id, head.producer_epoch) else admit(self, head)

    patch.setattr(ProducerState, "is_verification_due", due)
    patch.setattr(ProducerState, "has_open_txn", opened)
    patch.setattr(ProducerState, "admit", admitted)


def no_fence_in_groups(patch: pytest.MonkeyPatch) -> None:
    """Offsets are taken from those who are no members any more."""
    patch.setattr(ClassicGroup, "check_commit", lambda *_, **__: None)
    patch.setattr(ConsumerGroup, "check_commit", lambda *_, **__: None)


def offsets_not_pending(patch: pytest.MonkeyPatch) -> None:
    """Offsets of a transaction count at once, whatever becomes of it."""
    replay = Offsets.replay

    def hasty(self: Offsets, offset: Any, key: Any, value: Any, _producer_id: Any = NO_PRODUCER_ID) -> None:
        replay(self, offset, key, value)

    patch.setattr(Offsets, "replay", hasty)


def pending_offsets_not_told(patch: pytest.MonkeyPatch) -> None:
    """Who asks for stable offsets is told the ones before, while a transaction is open."""
    patch.setattr(PendingOffsets, "has", lambda *_: False)
    patch.setattr(PendingOffsets, "has_group", lambda *_: False)


def offsets_lost_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """A commit drops what was pending."""
    end = Offsets.end_transaction
    patch.setattr(Offsets, "end_transaction", lambda self, producer_id, *, commit: end(self, producer_id, commit=False))


def not_completed_after_reload(patch: pytest.MonkeyPatch) -> None:
    """What was prepared before a crash stays so."""
    loaded = TransactionShard.loaded
    patch.setattr(TransactionShard, "loaded", lambda self: loaded(self)._replace(effects=()))


def timeouts_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionShard, "_abort_overdue", lambda _: NOTHING)


def duplicates_taken(patch: pytest.MonkeyPatch) -> None:
    """A batch that is sent again is written again."""
    patch.setattr(ProducerState, "admit", lambda *_: None)


def aborted_not_told(patch: pytest.MonkeyPatch) -> None:
    """Consumers are not told of all aborted transactions."""
    found = Log.aborted_in

    def forgetful(self: Log, *args: Any) -> Sequence[Any]:
        return found(self, *args)[1:]

    patch.setattr(Log, "aborted_in", forgetful)


FAULTS: tuple[Fault, ...] = (
    marker_left_out,
    abort_marked_as_commit,
    epoch_not_raised,
    epoch_not_raised_with_each_transaction,
    no_fence_at_the_coordinator,
    no_fence_at_partitions,
    no_fence_in_groups,
    offsets_not_pending,
    pending_offsets_not_told,
    offsets_lost_at_the_end,
    not_completed_after_reload,
    timeouts_forgotten,
    duplicates_taken,
    aborted_not_told,
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    violation = first_violation(run, SEEDS)
    assert violation is not None, f"none of {SEEDS_MAX} seeds shows it"
    assert "Traceback" not in violation, violation
