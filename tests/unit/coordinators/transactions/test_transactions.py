"""The life of a transactional id, told with a clock that is moved by hand."""

from typing import Any

import pytest

from odradek.coordinators.transactions.transaction import EPOCH_LAST, EPOCH_MAX, Claim
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from support.transaction_stage import BILLS, ORDERS, SHOP, TIMEOUT_MS, TransactionStage

LOOK_MS = 10_000
"""transaction.abort.timed.out.transaction.cleanup.interval.ms"""
OLD, NEW = 4, 5
"""Versions of EndTxn."""


def raised(who: Claim, by: int = 1) -> Claim:
    return who._replace(epoch=who.epoch + by)


# --- from the first producer to the end


def test_a_transaction_is_committed_in_all_its_partitions() -> None:
    stage = TransactionStage()
    who = stage.begin()
    assert (who.epoch, stage.state) == (0, "Empty")
    assert stage.join(who, ORDERS) == ErrorCode.NONE
    assert stage.join(who, BILLS) == ErrorCode.NONE
    assert stage.state == "Ongoing"
    told = stage.end(who)
    assert (told.error_code, told.producer_id, told.producer_epoch) == (0, who.producer_id, 1)
    assert stage.marked == [(ORDERS, who.producer_id, 1, True), (BILLS, who.producer_id, 1, True)]
    assert (stage.state, dict(stage.transaction().partitions)) == ("CompleteCommit", {})


def test_the_records_say_each_step() -> None:
    stage = TransactionStage()
    who = stage.begin()
    began_ms = stage.clock.now_ms()
    stage.clock.advance(5)
    stage.join(who, ORDERS)
    stage.clock.advance(5)
    stage.end(who, commit=False)
    values = [value for value in stage.values if value is not None]
    assert [value.transaction_status for value in values] == [0, 1, 3, 5]
    assert [value.producer_epoch for value in values] == [0, 0, 1, 1]
    assert [value.client_transaction_version for value in values] == [0, 2, 2, 2]
    assert [value.transaction_start_timestamp_ms for value in values] == [-1, *[began_ms + 5] * 3]
    assert [value.transaction_last_update_timestamp_ms - began_ms for value in values] == [0, 5, 10, 10]
    assert [value.transaction_partitions is None for value in values] == [True, False, False, False]
    assert values[-1].transaction_partitions == ()
    assert {value.previous_producer_id for value in values} == {who.producer_id}


@pytest.mark.parametrize(("level", "version"), [(0, 0), (1, 1), (2, 1)])
def test_the_feature_decides_on_the_version_of_records(level: int, version: int) -> None:
    stage = TransactionStage(level=level)
    stage.begin()
    ((_, value),) = stage.log
    assert value is not None
    assert int.from_bytes(value[:2], "big") == version


def test_older_clients_keep_their_epoch() -> None:
    stage = TransactionStage()
    who = stage.begin()
    for commit in (True, False):
        assert stage.join(who, ORDERS, level=0) == ErrorCode.NONE
        assert stage.end(who, commit=commit, version=OLD).error_code == 0
        assert stage.marked[-1] == (ORDERS, who.producer_id, 0, commit)
    assert stage.transaction().epoch == 0


def test_what_joined_already_is_not_written_again() -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS, BILLS)
    written = len(stage.log)
    assert stage.join(who, BILLS) == ErrorCode.NONE
    assert len(stage.log) == written


def test_a_leader_asks_whether_a_partition_joined() -> None:
    stage = TransactionStage()
    who = stage.begin()
    assert stage.verify(who, ORDERS) == ErrorCode.TRANSACTION_ABORTABLE
    stage.join(who, ORDERS)
    assert stage.verify(who, ORDERS) == ErrorCode.NONE
    assert stage.verify(who, BILLS) == ErrorCode.TRANSACTION_ABORTABLE
    assert stage.verify(raised(who), ORDERS) == ErrorCode.PRODUCER_FENCED
    assert stage.verify(who._replace(producer_id=ProducerId(5)), ORDERS) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert stage.verify(Claim("other", who.producer_id, 0), ORDERS) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


# --- repeats


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeat_is_known_by_the_epoch_before(commit: bool) -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS)
    stage.end(who, commit=commit)
    written = len(stage.log)
    again = stage.end(who, commit=commit)
    assert (again.error_code, again.producer_epoch) == (0, 1)
    assert stage.end(who, commit=not commit).error_code == ErrorCode.INVALID_TXN_STATE
    assert stage.end(raised(who, 2), commit=commit).error_code == ErrorCode.PRODUCER_FENCED
    assert len(stage.log) == written


@pytest.mark.parametrize("commit", [True, False])
def test_of_older_clients_a_repeat_is_known_by_the_state(commit: bool) -> None:
    stage = TransactionStage()
    who = stage.begin()
    assert stage.end(who, commit=commit, version=OLD).error_code == ErrorCode.INVALID_TXN_STATE
    stage.join(who, ORDERS, level=0)
    stage.end(who, commit=commit, version=OLD)
    assert stage.end(who, commit=commit, version=OLD).error_code == 0
    assert stage.end(who, commit=not commit, version=OLD).error_code == ErrorCode.INVALID_TXN_STATE


def test_a_transaction_without_partitions_can_be_aborted_and_uses_up_an_epoch() -> None:
    stage = TransactionStage()
    who = stage.begin()
    assert stage.end(who, commit=True).error_code == ErrorCode.INVALID_TXN_STATE
    told = stage.end(who, commit=False)
    assert (told.error_code, told.producer_epoch, stage.state) == (0, 1, "CompleteAbort")
    told = stage.end(raised(who), commit=False)
    assert (told.error_code, told.producer_epoch) == (0, 2)
    assert stage.marked == []


# --- who has the id


def test_a_second_producer_fences_the_first() -> None:
    stage = TransactionStage()
    first = stage.begin()
    second = stage.begin()
    assert (second.producer_id, second.epoch) == (first.producer_id, 1)
    assert stage.join(first, ORDERS) == ErrorCode.PRODUCER_FENCED
    assert stage.end(first).error_code == ErrorCode.PRODUCER_FENCED
    assert stage.join(second, ORDERS) == ErrorCode.NONE


@pytest.mark.parametrize(("level", "fence"), [(2, 1), (1, 1), (0, 1)])
def test_what_the_first_left_open_is_aborted_before_the_second_begins(level: int, fence: int) -> None:
    stage = TransactionStage(level=level)
    first = stage.begin()
    stage.join(first, ORDERS, level=2 if level == 2 else 0)
    assert stage.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.marked == [(ORDERS, first.producer_id, fence, False)]
    assert stage.state == "CompleteAbort"
    second = stage.begin()
    assert second.epoch == 2
    assert stage.end(first, version=OLD).error_code == ErrorCode.PRODUCER_FENCED


def test_a_producer_that_says_who_it_was_may_repeat_itself() -> None:
    stage = TransactionStage()
    first = stage.begin()
    known: dict[str, Any] = {"producer_id": first.producer_id}
    assert stage.begin(**known, producer_epoch=0).epoch == 1
    assert stage.begin(**known, producer_epoch=0).epoch == 1
    assert stage.begin(**known, producer_epoch=1).epoch == 2
    assert stage.init(**known, producer_epoch=0).error_code == ErrorCode.PRODUCER_FENCED
    assert stage.init(producer_id=5, producer_epoch=2).error_code == ErrorCode.PRODUCER_FENCED
    stage.begin()
    assert stage.init(**known, producer_epoch=2).error_code == ErrorCode.PRODUCER_FENCED


def test_the_epoch_before_a_transaction_ended_is_good_for_a_new_start() -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS)
    stage.end(who)
    assert stage.begin(producer_id=who.producer_id, producer_epoch=0).epoch == 1


def test_what_could_not_be_written_is_no_repeat() -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.is_full = True
    assert stage.init(producer_id=who.producer_id, producer_epoch=0).error_code == ErrorCode.NOT_COORDINATOR
    stage.is_full = False
    assert stage.begin(producer_id=who.producer_id, producer_epoch=0).epoch == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transaction_timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 900_000}, ErrorCode.NONE),
        ({"enable_2pc": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"keep_prepared_txn": True}, ErrorCode.UNSUPPORTED_VERSION),
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_no_producer_gets(fields: dict[str, object], code: ErrorCode) -> None:
    assert TransactionStage().init(**fields).error_code == code  # type: ignore[arg-type]


def test_two_phase_commit_has_no_timeout_where_it_is_allowed() -> None:
    stage = TransactionStage(BrokerConfig(transaction_two_phase_commit_enable=True))
    stage.shard.loaded()
    who = stage.begin(enable_2pc=True, transaction_timeout_ms=0)
    stage.join(who, ORDERS)
    stage.advance(1_000_000_000)
    assert stage.state == "Ongoing"


# --- epochs are used up


def with_epoch(epoch: int) -> tuple[TransactionStage, Claim]:
    """A producer that has this one."""
    stage = TransactionStage()
    who = stage.begin()
    stage.write(stage.transaction().restarted(TIMEOUT_MS, epoch, stage.clock.now_ms()), 2)
    return stage, who._replace(epoch=epoch)


def test_with_the_last_epoch_the_next_producer_has_another_id() -> None:
    stage, who = with_epoch(EPOCH_LAST)
    other = stage.begin()
    assert (other.producer_id, other.epoch) == (who.producer_id + 1, 0)
    stage, who = with_epoch(EPOCH_LAST)
    known: dict[str, Any] = {"producer_id": who.producer_id, "producer_epoch": EPOCH_LAST}
    other = stage.begin(**known)
    assert (other.producer_id, other.epoch) == (who.producer_id + 1, 0)
    assert stage.begin(**known) == other  # the answer was lost


def test_with_the_last_epoch_a_transaction_ends_with_another_id() -> None:
    stage, who = with_epoch(EPOCH_LAST)
    stage.join(who, ORDERS)
    told = stage.end(who)
    assert (told.error_code, told.producer_id, told.producer_epoch) == (0, who.producer_id + 1, 0)
    assert stage.marked == [(ORDERS, who.producer_id, EPOCH_MAX, True)]
    again = stage.end(who)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, who.producer_id + 1, 0)
    assert stage.join(Claim(SHOP, ProducerId(told.producer_id), 0), ORDERS) == ErrorCode.NONE
    assert stage.end(who).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_without_a_new_id_at_hand_the_end_is_to_be_tried_again() -> None:
    stage, who = with_epoch(EPOCH_LAST)
    stage.join(who, ORDERS)
    stage.has_ids = False
    assert stage.end(who).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.state == "Ongoing"
    stage.has_ids = True
    assert stage.end(who).error_code == 0


# --- time


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced() -> None:
    stage = TransactionStage()
    stage.shard.loaded()
    who = stage.begin(transaction_timeout_ms=15_000)
    stage.join(who, ORDERS)
    stage.advance(LOOK_MS)
    assert stage.state == "Ongoing"
    stage.advance(LOOK_MS)
    assert stage.state == "CompleteAbort"
    assert stage.marked == [(ORDERS, who.producer_id, 1, False)]
    assert stage.join(who, ORDERS) == ErrorCode.PRODUCER_FENCED
    assert stage.end(who, commit=True).error_code == ErrorCode.INVALID_TXN_STATE
    assert stage.end(who, commit=False).error_code == 0  # the producer wanted the same
    assert stage.begin().epoch == 2


def test_many_that_take_too_long_are_aborted_one_at_a_time() -> None:
    stage = TransactionStage()
    stage.shard.loaded()
    for number in range(250):
        stage.join(stage.begin(f"id-{number}"), ORDERS)
    stage.clock.advance(TIMEOUT_MS + LOOK_MS)
    sizes = []
    for deadline in stage.timers.due():
        decision = stage.shard.expired(deadline)  # type: ignore[arg-type]
        sizes.append(len(decision.effects))
        stage.perform(decision)
    assert sizes == [1] * 250
    assert {each.state.label for each in stage.shard} == {"CompleteAbort"}


def test_only_open_transactions_time_out() -> None:
    stage = TransactionStage()
    stage.shard.loaded()
    stage.begin()
    stage.advance(100 * TIMEOUT_MS)
    assert stage.state == "Empty"


def test_an_id_that_nobody_uses_is_forgotten() -> None:
    week_ms = 7 * 24 * 3_600_000
    stage = TransactionStage()
    stage.shard.loaded()
    stage.begin("idle")
    open_one = stage.begin("open")
    stage.join(open_one, ORDERS)
    for transaction in list(stage.shard):
        assert transaction.timeout_ms == TIMEOUT_MS
    stage.advance(week_ms - 1)
    assert {each.transactional_id for each in stage.shard} == {"idle", "open"}  # the open one was aborted just now
    stage.advance(3_600_000)
    assert {each.transactional_id for each in stage.shard} == {"open"}
    assert stage.values[-1] is None
    assert {each.transactional_id for each in stage.restarted().shard} == {"open"}


# --- markers, and restarts


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_that_cannot_be_written_is_tried_again(commit: bool) -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS, BILLS)
    stage.broken = {BILLS}
    assert stage.end(who, commit=commit).error_code == 0
    assert stage.state == ("PrepareCommit" if commit else "PrepareAbort")
    assert stage.join(raised(who), ORDERS) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.verify(raised(who), ORDERS) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.end(who, commit=commit).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.end(who, commit=not commit).error_code == ErrorCode.INVALID_TXN_STATE
    stage.advance(1000)
    assert stage.state.startswith("Prepare")
    stage.broken.clear()
    stage.advance(1000)
    assert stage.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert (BILLS, who.producer_id, 1, commit) in stage.marked


def test_only_markers_that_are_left_are_written_again() -> None:
    stage = TransactionStage()
    who = stage.begin()
    other = TopicPartition("other", 1)
    stage.join(who, ORDERS, BILLS, other)
    stage.broken = {BILLS, other}
    stage.end(who)
    for _ in range(5):
        stage.advance(1000)
    stage.broken = {BILLS}
    stage.advance(1000)
    stage.broken.clear()
    stage.advance(1000)
    assert stage.state == "CompleteCommit"
    assert [each[0] for each in stage.marked] == [ORDERS, other, BILLS]
    stage.join(raised(who), ORDERS, BILLS)
    stage.end(raised(who))
    assert [each[0] for each in stage.marked[3:]] == [ORDERS, BILLS], "the next transaction has its own"


def test_after_a_restart_all_markers_are_written_and_then_what_is_left() -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS, BILLS)
    stage.broken = {BILLS}
    stage.end(who)
    after = stage.restarted()
    after.advance(1000)
    after.broken.clear()
    after.advance(1000)
    assert after.state == "CompleteCommit"
    assert [each[0] for each in after.marked] == [ORDERS, BILLS]


@pytest.mark.parametrize("kept", range(1, 5))
def test_after_a_crash_what_was_decided_is_completed(kept: int) -> None:
    """With so many of the records: the producer's, the partition's, the decision's, the completion's."""
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS)
    stage.end(who)
    stage.log = stage.log[:kept]
    after = stage.restarted()
    assert after.state == ["Empty", "Ongoing", "CompleteCommit", "CompleteCommit"][kept - 1]
    assert after.marked == ([(ORDERS, who.producer_id, 1, True)] if kept == 3 else [])


def test_an_open_transaction_goes_on_after_a_restart_and_times_out_there() -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS)
    after = stage.restarted()
    assert after.join(who, BILLS) == ErrorCode.NONE
    after.advance(2 * TIMEOUT_MS)
    assert after.state == "CompleteAbort"
    assert [each[0] for each in after.marked] == [ORDERS, BILLS]


def test_what_cannot_be_written_changes_nothing() -> None:
    stage = TransactionStage()
    who = stage.begin()
    stage.join(who, ORDERS)
    before = stage.transaction()
    stage.is_full = True
    assert stage.end(who).error_code == ErrorCode.NOT_COORDINATOR
    assert stage.transaction() == before
    stage.is_full = False
    assert stage.end(who).producer_epoch == 1
