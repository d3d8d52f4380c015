"""Which transactions ListTransactions tells."""

from typing import Any

import pytest

from odradek.coordinators.transactions.errors import InvalidPattern
from odradek.coordinators.transactions.listing import Filter, described, listed
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from support.transaction_stage import BILLS, ORDERS, TIMEOUT_MS, TransactionStage


@pytest.fixture
def stage() -> TransactionStage:
    """An id that is idle, one with a transaction that is open for 10 ms, one whose transaction is done."""
    stage = TransactionStage()
    stage.begin("idle")
    done = stage.begin("done")
    stage.join(done, ORDERS)
    stage.end(done)
    stage.join(stage.begin("open"), ORDERS, BILLS)
    stage.clock.advance(10)
    return stage


def wanted(stage: TransactionStage, **fields: Any) -> set[str]:
    asked = Filter(
        ListTransactionsRequest(**{"state_filters": (), "producer_id_filters": (), **fields}), stage.clock.now_ms()
    )
    return {each.transactional_id for each in stage.shard if asked.wants(each)}


def test_all_are_told_where_nothing_is_said(stage: TransactionStage) -> None:
    assert wanted(stage) == {"idle", "done", "open"}


def test_by_state(stage: TransactionStage) -> None:
    assert wanted(stage, state_filters=("Ongoing", "CompleteCommit")) == {"open", "done"}
    assert wanted(stage, state_filters=("ongoing",)) == set()
    request = ListTransactionsRequest(state_filters=("x", "Ongoing", "x"), producer_id_filters=())
    assert Filter(request, stage.clock.now_ms()).unknown_states == ("x",)


def test_by_producer(stage: TransactionStage) -> None:
    assert wanted(stage, producer_id_filters=(stage.transaction("idle").producer_id, 5)) == {"idle"}


def test_by_duration(stage: TransactionStage) -> None:
    """As Kafka counts it: what never began is open since ever."""
    assert wanted(stage, duration_filter=9) == {"idle", "done", "open"}
    assert wanted(stage, duration_filter=10) == {"idle"}


def test_by_pattern_of_the_whole_id(stage: TransactionStage) -> None:
    assert wanted(stage, transactional_id_pattern="[di].*") == {"idle", "done"}
    assert wanted(stage, transactional_id_pattern="d") == set()
    assert wanted(stage, transactional_id_pattern="") == {"idle", "done", "open"}


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "a{1000}{1000}"])
def test_what_is_no_pattern_for_us(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        wanted(TransactionStage(), transactional_id_pattern=pattern)


def test_one_is_described(stage: TransactionStage) -> None:
    transaction = stage.transaction("open")
    told = described(transaction)
    assert (told.transaction_state, told.transaction_timeout_ms) == ("Ongoing", TIMEOUT_MS)
    assert told.transaction_start_time_ms == stage.clock.now_ms() - 10
    assert [(each.topic, each.partitions) for each in told.topics] == [("orders", (0,)), ("bills", (3,))]
    assert listed(transaction).transaction_state == "Ongoing"
