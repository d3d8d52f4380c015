"""What comes of a decision beside its records and answers: effects, and records that wait for a transaction."""

import asyncio
from dataclasses import replace

import pytest

from odradek.coordinators.errors import NotCoordinator
from odradek.coordinators.result import CoordinatorResult, RequestContext, Writer
from odradek.model.errors import InvalidTxnState
from odradek.model.numbers import ProducerId
from odradek.process.tasks import Tasks
from odradek.replication.waiters import wait_for
from odradek.wire.messages.heartbeat import HeartbeatResponse
from support.coordinator_stage import CONFIG, CoordinatorStage, Outcome, on_stage, record
from support.disk import FaultyDisk, Op
from support.waiting import until

KEY = "b"
"""Of partition 2 of 4: its hash in Java is 98."""
EFFECT = "something elsewhere"
WRITER = Writer(ProducerId(7), 3)


def submit(stage: CoordinatorStage) -> Outcome:
    outcome = Outcome()
    answers = RequestContext(outcome, 0).answer(HeartbeatResponse()).answers
    stage.runtime.submit(KEY, outcome, lambda _: CoordinatorResult((record(KEY, 1),), answers, effects=(EFFECT,)))
    return outcome


@on_stage
async def test_effects_follow_the_records_at_once(stage: CoordinatorStage) -> None:
    stage.lead()
    assert submit(stage).code == 0
    assert stage.runtime.decide(KEY, lambda _: CoordinatorResult((record(KEY, 2),), effects=(EFFECT,))) is None
    assert stage.effects == [(2, EFFECT)] * 2
    assert stage.shards[2].state == {KEY: 2}


@on_stage
async def test_what_is_due_may_have_effects(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.shards[2].when_due = lambda _: CoordinatorResult(effects=(EFFECT,))
    stage.shards[2].timers.set("soon", 1)
    await asyncio.sleep(1)
    assert stage.effects == [(2, EFFECT)]


@on_stage
async def test_without_its_records_a_decision_has_no_effects(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.disk.fail_next(Op.WRITE)
    with pytest.raises(NotCoordinator):
        stage.runtime.decide(KEY, lambda _: CoordinatorResult((record(KEY, 1),), effects=(EFFECT,)))
    assert (stage.effects, stage.shards[2].state) == ([], {})
    with pytest.raises(NotCoordinator):
        stage.runtime.decide(KEY, lambda _: CoordinatorResult())


@pytest.mark.parametrize("outcome", ["synced", "failed", "gone"])
def test_effects_wait_for_the_sync_that_the_topic_asks_for(outcome: str) -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            disk = FaultyDisk("/data")
            stage = CoordinatorStage(tasks, disk, replace(CONFIG, flush_messages=1))
            stage.lead()
            told = submit(stage)
            await until(lambda: len(stage.pool))
            assert stage.effects == []
            if outcome == "failed":
                disk.fail_next(Op.SYNC)
            elif outcome == "gone":
                stage.lead(1)
            while told.code is None or len(stage.pool):
                if len(stage.pool):
                    stage.pool.run_next()
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert stage.effects == ([(2, EFFECT)] if outcome == "synced" else [])

    asyncio.run(scene())


def test_one_who_is_not_answered_can_wait_for_the_sync() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks, FaultyDisk("/data"), replace(CONFIG, flush_messages=1))
            stage.lead()
            settled = stage.runtime.decide(KEY, lambda _: CoordinatorResult((record(KEY, 1),), effects=(EFFECT,)))
            assert settled is not None
            seen = stage.runtime.decide(KEY, lambda _: CoordinatorResult())
            assert seen is not None, "what it saw is not safe yet either"
            done = asyncio.ensure_future(wait_for({"settled": settled, "seen": seen}))
            while not done.done():
                if len(stage.pool):
                    stage.pool.run_next()
                await asyncio.sleep(0)
            assert stage.effects == [(2, EFFECT)]
            assert stage.log(2).recovery_point == 1

    asyncio.run(scene())


@on_stage
async def test_records_of_a_writer_are_in_its_transaction(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.runtime.decide(KEY, lambda _: CoordinatorResult((record(KEY, 5), record(KEY, 6)), writer=WRITER))
    assert stage.shards[2].state == {}
    assert stage.shards[2].pending == [(7, 0, KEY, 5), (7, 1, KEY, 6)]
    ((head, _), _) = stage.log(2).records(stage.log(2).start_offset)
    assert (head.producer_id, head.producer_epoch, head.base_sequence) == (7, 3, -1)
    assert head.is_transactional
    assert stage.log(2).last_stable_offset == 0


@on_stage
async def test_a_transaction_ends_in_the_log_and_then_in_the_shard(stage: CoordinatorStage) -> None:
    stage.lead()
    written: list[int] = []
    stage.runtime.end_transaction(2, WRITER.producer_id, lambda: written.append(2), commit=True)
    assert (written, stage.shards[2].ended) == ([2], [(7, True)])

    def refuse() -> None:
        raise InvalidTxnState("late")

    with pytest.raises(InvalidTxnState):
        stage.runtime.end_transaction(2, WRITER.producer_id, refuse, commit=False)
    assert stage.shards[2].ended == [(7, True)]
    stage.lead(1)
    with pytest.raises(NotCoordinator):
        stage.runtime.end_transaction(2, WRITER.producer_id, lambda: written.append(2), commit=True)
    assert written == [2]
