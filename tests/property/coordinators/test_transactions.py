"""Random histories of transactions: whatever is asked, in whatever order, with a disk that is full at times."""

from collections.abc import Mapping
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from odradek.coordinators.transactions.state import NEXT, TransactionState
from odradek.coordinators.transactions.transaction import EPOCH_LAST, Claim, Transaction
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import ProducerId
from support.transaction_stage import BILLS, ORDERS, SHOP, TransactionStage

S = TransactionState
BEFORE: Mapping[TransactionState, set[TransactionState]] = {
    S.EMPTY: {S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT},
    S.ONGOING: {S.ONGOING, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT},
    S.PREPARE_COMMIT: {S.ONGOING},
    S.PREPARE_ABORT: {S.ONGOING, S.PREPARE_EPOCH_FENCE, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT},
    S.COMPLETE_COMMIT: {S.PREPARE_COMMIT},
    S.COMPLETE_ABORT: {S.PREPARE_ABORT},
    S.DEAD: {S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT},
    S.PREPARE_EPOCH_FENCE: {S.ONGOING},
}
"""As Kafka has it: the states from which each can be reached."""


def test_the_table_of_moves_is_kafkas() -> None:
    assert {(now, to) for now, after in NEXT.items() for to in after} == {
        (now, to) for to, before in BEFORE.items() for now in before
    }


class Step(NamedTuple):
    what: str
    epoch: int
    """Added to the current one: who asks."""
    is_true: bool
    """Commits, or is a new client, or breaks a partition: whatever the step can be in two ways."""
    level: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(("init", "expect", "join", "join", "end", "end", "wait", "crash", "full", "break", "last")),
        st.sampled_from((0, 0, 0, -1, 1)),
        st.booleans(),
        st.sampled_from((0, 2)),
    ),
    max_size=40,
)


GONE_BACK = [
    Step("init", 0, False, 0),
    Step("end", 0, False, 2),
    Step("join", 0, False, 0),
    Step("end", 0, True, 0),
]
"""A client that ends a transaction in the newer way, and its next one in the older."""


@given(STEPS, st.sampled_from((0, 1, 2)))
@example(GONE_BACK, 1)
def test_histories(steps: list[Step], level: int) -> None:
    stage = TransactionStage(level=level)
    stage.perform(stage.shard.loaded())
    for step in steps:
        before = stage.shard.get(SHOP)
        stage = take(stage, step, level)
        after = stage.shard.get(SHOP)
        check_step(before, after)
        check_markers(stage)
    assert stage.restarted(completing=False).shard.get(SHOP) == stage.shard.get(SHOP)
    settled = stage.restarted()
    settled.broken.clear()
    settled.advance(1000)
    found = settled.shard.get(SHOP)
    assert found is None or not found.is_ending


def take(stage: TransactionStage, step: Step, level: int) -> TransactionStage:
    known = stage.shard.get(SHOP)
    who = Claim(SHOP, ProducerId(0), 0) if known is None else Claim(SHOP, known.producer_id, known.epoch + step.epoch)
    client_level = min(step.level, level)
    match step.what:
        case "init":
            stage.init()
        case "expect":
            stage.init(producer_id=who.producer_id, producer_epoch=max(who.epoch, 0))
        case "join":
            stage.join(who, ORDERS if step.is_true else BILLS, level=client_level)
        case "end":
            end(stage, who, client_level, commit=step.is_true)
        case "wait":
            stage.advance(40_000)
        case "crash":
            stage = stage.restarted()
        case "full":
            stage.is_full = step.is_true
        case "break":
            stage.broken = {BILLS} if step.is_true else set()
        case "last" if known is not None and known.state.may_expire and known.epoch < EPOCH_LAST:
            raised = known.restarted(known.timeout_ms, EPOCH_LAST, stage.clock.now_ms())
            stage.write(raised, level)
    return stage


def end(stage: TransactionStage, who: Claim, client_level: int, *, commit: bool) -> None:
    told = stage.end(who, commit=commit, version=5 if client_level else 4)
    if told.error_code == ErrorCode.NONE and client_level:
        assert (told.producer_id, told.producer_epoch) == final(stage.transaction())


def final(transaction: Transaction) -> tuple[int, int]:
    """Who the producer is when the end is complete."""
    then = transaction.completed(transaction.updated_ms) if transaction.is_ending else transaction
    return then.producer_id, then.epoch


def check_step(before: Transaction | None, after: Transaction | None) -> None:
    """An epoch never falls, and only grows when a producer begins or a transaction ends."""
    if before is None or after is None:
        return
    if before.producer_id == after.producer_id:
        assert after.epoch >= before.epoch
        if after.state is S.ONGOING and before.state is S.ONGOING:
            assert after.epoch == before.epoch
            assert before.partitions.keys() <= after.partitions.keys()
    else:
        assert after.epoch == 0 or after.producer_id > before.producer_id


def check_markers(stage: TransactionStage) -> None:
    """No transaction is committed in one partition and aborted in another.

    In the newer way, each has an epoch of its own. In the older, an epoch may be that of several.
    """
    decided: dict[tuple[int, int], set[bool]] = {}
    older: set[tuple[int, int]] = set()
    for value in stage.values:
        if value is not None and value.transaction_status in (S.PREPARE_COMMIT, S.PREPARE_ABORT):
            whose = (value.producer_id, value.producer_epoch)
            decided.setdefault(whose, set()).add(value.transaction_status == S.PREPARE_COMMIT)
            if value.client_transaction_version < 2:
                older.add(whose)
    assert all(len(how) == 1 for whose, how in decided.items() if whose not in older)
    assert all(commit in decided[producer_id, epoch] for _, producer_id, epoch, commit in stage.marked)
