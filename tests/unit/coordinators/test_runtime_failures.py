"""Bugs in a shard, or in what its decisions call for: each concerns the one thing that it happened in."""

import asyncio
from typing import Any

from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.heartbeat import HeartbeatResponse
from support.coordinator_stage import CoordinatorStage, Outcome, on_stage, record
from support.failures import collected
from support.waiting import until

KEY = "b"
"""Of partition 2 of 4: its hash in Java is 98."""


@on_stage
async def test_a_deadline_that_fails_comes_again_and_others_come_in_time(stage: CoordinatorStage) -> None:
    stage.lead()
    failing, other = stage.shards[1], stage.shards[2]

    def fail_once(deadline: Any) -> CoordinatorResult:
        if failing.due.count(deadline) == 1:
            raise ValueError("a bug")
        return CoordinatorResult((record("c", 5),))

    failing.when_due = fail_once
    failing.timers.set("member", 100)
    other.timers.set("another member", 100)
    with collected() as lines:
        await asyncio.sleep(0.2)
        assert other.due == ["another member"]
        await asyncio.sleep(1)
    assert failing.due == ["member"] * 2
    assert failing.state == {"c": 5}
    (line,) = lines
    assert line.startswith("a deadline of a coordinator failed")


@on_stage
async def test_an_effect_that_fails_takes_no_answer_and_no_other_effect_with_it(stage: CoordinatorStage) -> None:
    performed: list[object] = []

    def perform(_number: int, effect: object) -> None:
        if effect == "bad":
            raise ValueError("a bug")
        performed.append(effect)

    stage.runtime._perform = perform
    stage.lead()
    outcome = Outcome()
    answers = RequestContext(outcome, 0).answer(HeartbeatResponse()).answers
    with collected() as lines:
        stage.runtime.submit(KEY, outcome, lambda _: CoordinatorResult((), answers, effects=("bad", "good")))
    assert outcome.code == 0
    assert performed == ["good"]
    assert len(lines) == 1


@on_stage
async def test_a_shard_that_cannot_take_its_log_fails_its_partition_alone(stage: CoordinatorStage) -> None:
    stage.lead(2, 3)
    stage.submit(KEY, record(KEY, 1))
    stage.submit("c", record("c", 1))
    stage.runtime.lead({})
    stage.shards.clear()
    stage.lead(2, 3)

    def fail(*_: object) -> None:
        raise ValueError("a bug")

    setattr(stage.shards[0], "loaded", fail)  # noqa: B010 - of this one alone
    with collected() as lines:
        await until(lambda: stage.submit("c").code == 0)
        assert stage.submit(KEY).code == ErrorCode.NOT_COORDINATOR
    (line,) = lines
    assert line.startswith("the loading of a coordinator failed")
