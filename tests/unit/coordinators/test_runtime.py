"""The way of a command: decided, appended, replayed, answered; and what those who wait hear when it goes wrong."""

import asyncio
import logging
from dataclasses import replace

import pytest

from odradek.coordinators.result import NOTHING, Answer, CoordinatorResult
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, NOWHERE
from odradek.model.error_code import ErrorCode
from odradek.process.tasks import Tasks
from odradek.records.batch import Codec
from odradek.wire.messages.heartbeat import HeartbeatResponse
from odradek.wire.records.metadata import TopicRecord
from support.coordinator_stage import CONFIG, CoordinatorStage, Outcome, Recorder, on_stage, record
from support.disk import FaultyDisk, Op
from support.virtual_time import run
from support.waiting import until

KEY = "b"
"""Of partition 2 of 4: its hash in Java is 98."""
OTHER = "a"
"""Of partition 1."""


@on_stage
async def test_a_command_is_recorded_replayed_and_answered_at_once(stage: CoordinatorStage) -> None:
    stage.lead()
    first = stage.submit(KEY, record(KEY, 1))
    second = stage.submit(KEY, record(KEY, 2), record(KEY, 3))
    assert (first.code, second.code) == (0, 0)
    assert stage.shards[2].replayed == [(0, KEY, 1), (1, KEY, 2), (2, KEY, 3)]
    log = stage.log(2)
    assert (log.end_offset, log.high_watermark) == (3, 3)
    assert [head.count for head, _ in log.records(log.start_offset)] == [1, 2, 2], "a command is a batch"


@on_stage
async def test_each_key_has_its_partition(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.submit(KEY, record(KEY, 1))
    stage.submit(OTHER, record(OTHER, 1))
    assert [shard.state for shard in stage.shards] == [{}, {OTHER: 1}, {KEY: 1}, {}]
    assert stage.runtime.shard_of(OTHER) is stage.shards[1]
    assert list(stage.runtime.shards()) == stage.shards


@on_stage
async def test_records_carry_the_time_of_day(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.clock.advance(5)
    stage.submit(KEY, record(KEY, 1))
    ((head, stored),) = stage.log(2).records(stage.log(2).start_offset)
    assert stored.timestamp == head.max_timestamp == stage.clock.now_ms()


@on_stage
async def test_batches_are_compressed_as_the_settings_say(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.codec = Codec.GZIP
    stage.submit(KEY, record(KEY, 1))
    ((head, _),) = stage.log(2).records(stage.log(2).start_offset)
    assert head.codec is Codec.GZIP


@on_stage
async def test_a_partition_that_is_not_led_here_is_somebody_elses(stage: CoordinatorStage) -> None:
    stage.lead(1)
    assert stage.submit(KEY, record(KEY)).code == ErrorCode.NOT_COORDINATOR
    assert stage.submit(OTHER, record(OTHER)).code == 0


@on_stage
async def test_nothing_is_decided_while_a_partition_loads(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.submit(KEY, record(KEY, 5))
    stage.runtime.lead({})
    stage.lead()
    assert stage.submit(KEY, record(KEY, 6)).code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.submit(OTHER, record(OTHER, 6)).code == 0, "this one has nothing to load"
    again = stage.shards[-2]
    await until(lambda: stage.submit(KEY).code == 0)
    assert again.state == {KEY: 5}


@on_stage
async def test_what_is_decided_at_the_end_of_loading_is_recorded(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.submit(KEY, record(KEY, 5))
    stage.runtime.lead({})
    stage.lead(2)
    stage.shards[-1].when_loaded = CoordinatorResult((record(KEY, 6),))
    await until(lambda: stage.submit(KEY).code == 0)
    assert stage.shards[-1].state == {KEY: 6}
    assert stage.log(2).end_offset == 2


def test_it_is_told_what_was_loaded(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks)
            stage.lead()
            stage.submit(KEY, record(KEY, 5), record(KEY, 6))
            stage.runtime.lead({})
            stage.lead()
            await until(lambda: stage.submit(KEY).code == 0)

    with caplog.at_level(logging.INFO, logger="odradek.coordinators"):
        run(scene())
    (line,) = caplog.records
    fields = vars(line)
    assert line.message == "a coordinator is loaded"
    assert (fields["partition"], fields["records"], fields["keys"]) == ("__consumer_offsets-2", 2, 1)


@on_stage
async def test_a_log_that_cannot_be_read_fails_its_partition_alone(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.submit(KEY, record(KEY, 5))
    stage.submit(OTHER, record(OTHER, 5))
    stage.runtime.lead({})
    stage.disk.fail_next(Op.READ, on="offsets-1/")
    stage.lead(1)
    await until(lambda: stage.submit(OTHER).code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert stage.submit(OTHER).code == ErrorCode.NOT_COORDINATOR


@on_stage
async def test_those_who_ask_for_all_shards_get_those_that_can_be_used(stage: CoordinatorStage) -> None:
    stage.lead()
    stage.disk.fail_next(Op.WRITE)
    assert stage.submit(KEY, record(KEY, 1)).code == ErrorCode.NOT_COORDINATOR
    assert list(stage.runtime.shards()) == [stage.shards[0], stage.shards[1], stage.shards[3]]


@on_stage
async def test_what_cannot_be_written_is_not_replayed(stage: CoordinatorStage) -> None:
    stage.lead()
    waiting = stage.submit(KEY, answered=False)
    stage.disk.fail_next(Op.WRITE)
    refused = stage.submit(KEY, record(KEY, 1))
    assert refused.code == ErrorCode.NOT_COORDINATOR, "what Kafka says of a disk that failed"
    assert stage.shards[2].replayed == []
    assert waiting.code == ErrorCode.NOT_COORDINATOR, "nobody would ever answer it"
    assert stage.submit(KEY).code == ErrorCode.NOT_COORDINATOR


@on_stage
async def test_a_decision_too_large_for_a_batch_is_refused_whole(stage: CoordinatorStage) -> None:
    stage.lead()
    half = "x" * (CONFIG.max_message_bytes // 2)
    refused = stage.submit(KEY, record(KEY, 1, half), record(KEY, 2, half))
    assert refused.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert stage.shards[2].replayed == []
    assert stage.submit(KEY, record(KEY, 3)).code == 0, "the coordinator goes on"


@on_stage
async def test_a_record_with_a_string_too_long_for_its_form_is_refused(stage: CoordinatorStage) -> None:
    stage.lead()
    refused = stage.submit(KEY, record("\N{REPLACEMENT CHARACTER}" * 20_000, 1))
    assert refused.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert stage.shards[2].replayed == []
    assert stage.submit(KEY, record(KEY, 2)).code == 0, "the coordinator goes on"


@on_stage
async def test_a_decision_that_need_not_be_atomic_becomes_several_batches(stage: CoordinatorStage) -> None:
    stage.lead()
    third = "x" * (CONFIG.max_message_bytes // 3)
    done = stage.submit(KEY, *(record(KEY, number, third) for number in range(5)), atomic=False)
    assert done.code == 0
    assert [number for _, _, number in stage.shards[2].replayed] == [0, 1, 2, 3, 4]
    sizes = {head.base_offset: head.count for head, _ in stage.log(2).records(stage.log(2).start_offset)}
    assert sizes == {0: 2, 2: 2, 4: 1}


@on_stage
async def test_an_answer_may_come_with_a_later_command(stage: CoordinatorStage) -> None:
    stage.lead()
    first = stage.submit(KEY, answered=False)
    assert first.told is None
    second = Outcome()
    response = HeartbeatResponse()
    stage.runtime.submit(
        KEY, second, lambda _: CoordinatorResult((record(KEY, 1),), (Answer(first, response), Answer(second, response)))
    )
    assert (first.code, second.code) == (0, 0)


@on_stage
async def test_those_who_wait_hear_that_the_partition_went_elsewhere(stage: CoordinatorStage) -> None:
    stage.lead()
    waiting, answered = stage.submit(KEY, answered=False), stage.submit(KEY)
    stage.runtime.lead({})
    assert (waiting.code, answered.code) == (ErrorCode.NOT_COORDINATOR, 0)


@on_stage
async def test_deadlines_of_all_shards_come_in_their_order(stage: CoordinatorStage) -> None:
    stage.lead()
    one, two = stage.shards[1], stage.shards[2]
    loop = asyncio.get_running_loop()
    began = loop.time()
    two.timers.set("late", 3_000)
    one.timers.set("soon", 1_000)
    one.timers.set("moved", 2_000)
    one.timers.set("moved", 5_000)
    two.timers.set("cancelled", 100)
    two.timers.cancel("cancelled")
    await until_due(one, "soon")
    assert loop.time() - began == pytest.approx(1, abs=0.002)
    assert two.due == []
    await until_due(two, "late")
    assert loop.time() - began == pytest.approx(3, abs=0.002)
    await until_due(one, "soon", "moved")
    assert loop.time() - began == pytest.approx(5, abs=0.002)
    assert two.due == ["late"]


@on_stage
async def test_what_is_decided_at_a_deadline_is_recorded_and_answered(stage: CoordinatorStage) -> None:
    stage.lead()
    shard = stage.shards[2]
    waiting = stage.submit(KEY, answered=False)
    shard.when_due = lambda _: CoordinatorResult((record(KEY, 9),), (Answer(waiting, HeartbeatResponse()),))
    shard.timers.set("rebalance", 10)
    await until_due(shard, "rebalance")
    assert (shard.state, waiting.code) == ({KEY: 9}, 0)


@on_stage
async def test_what_a_deadline_calls_for_is_tried_again_until_it_can_be_written(stage: CoordinatorStage) -> None:
    stage.lead()
    shard = stage.shards[2]
    decided = iter((record(KEY, 1, "x" * CONFIG.max_message_bytes), record(KEY, 2)))
    shard.when_due = lambda _: CoordinatorResult((next(decided),))
    shard.timers.set("session", 30)
    await until_due(shard, "session", "session")
    assert shard.state == {KEY: 2}
    assert len(shard.timers) == 0


@on_stage
async def test_others_have_their_turn_when_many_deadlines_come_at_once(stage: CoordinatorStage) -> None:
    stage.lead(1, 2)
    shards = stage.shards
    seen: list[int] = []

    def be_slow(_: object) -> CoordinatorResult:
        if not any(seen):  # the first ones take longer than all of them are given
            stage.clock.advance(6)
        asyncio.get_running_loop().call_soon(lambda: seen.append(sum(len(shard.due) for shard in shards)))
        return NOTHING

    for shard in shards:
        shard.when_due = be_slow
        for number in range(3):
            shard.timers.set(number, 10)
    while sum(len(shard.due) for shard in shards) < 6:  # noqa: ASYNC110 - it is time that has to pass
        await asyncio.sleep(0.001)
    assert seen[0] == 1


@on_stage
async def test_no_deadline_comes_for_a_shard_that_went_elsewhere(stage: CoordinatorStage) -> None:
    stage.lead()
    gone, kept = stage.shards[2], stage.shards[1]
    gone.timers.set("session", 10)
    stage.lead(1)  # other partitions, as objects: all are loaded anew
    kept = stage.shards[-1]
    kept.timers.set("session", 20)
    await until_due(kept, "session")
    assert gone.due == []


@on_stage
async def test_all_shards_hear_of_topics(stage: CoordinatorStage) -> None:
    stage.lead(1, 2)
    stage.runtime.topics_changed(Delta(EMPTY), EMPTY)
    assert [shard.changes for shard in stage.shards] == [1, 1]


@on_stage
async def test_a_shard_hears_of_topics_that_changed_while_it_was_loaded(stage: CoordinatorStage) -> None:
    stage.lead(2)
    stage.submit(KEY, record(KEY, 5))
    stage.runtime.lead({})
    stage.lead(2)
    delta = Delta(EMPTY)
    delta.replay(TopicRecord(name="orders", topic_id=bytes(range(16))))
    stage.runtime.topics_changed(delta, delta.finish(NOWHERE))
    stage.runtime.topics_changed(Delta(EMPTY), EMPTY)  # of other things
    assert stage.shards[-1].changes == 0
    await until(lambda: stage.submit(KEY).code == 0)
    assert (stage.shards[-1].state, stage.shards[-1].changes) == ({KEY: 5}, 1)


def test_answers_wait_for_the_sync_that_the_topic_asks_for() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks, FaultyDisk("/data"), replace(CONFIG, flush_messages=1))
            stage.lead()
            done = stage.submit(KEY, record(KEY, 1))
            seen = stage.submit(KEY)
            await until(lambda: len(stage.pool))
            assert (done.code, seen.code) == (None, None), "what it saw is not safe yet either"
            assert stage.shards[2].state == {KEY: 1}
            while done.code is None or seen.code is None:
                if len(stage.pool):
                    stage.pool.run_next()
                await asyncio.sleep(0)
            assert (done.code, seen.code) == (0, 0)
            assert stage.log(2).recovery_point == 1

    asyncio.run(scene())


def test_a_sync_that_fails_is_told_instead_of_the_answer() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            disk = FaultyDisk("/data")
            stage = CoordinatorStage(tasks, disk, replace(CONFIG, flush_messages=1))
            stage.lead()
            done = stage.submit(KEY, record(KEY, 1))
            await until(lambda: len(stage.pool))
            disk.fail_next(Op.SYNC)
            stage.pool.run_next()
            await until(lambda: done.code is not None)
            assert done.code == ErrorCode.NOT_COORDINATOR
            assert stage.submit(KEY).code == ErrorCode.NOT_COORDINATOR

    asyncio.run(scene())


def test_all_who_wait_for_a_sync_that_fails_hear_of_it_once() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            disk = FaultyDisk("/data")
            stage = CoordinatorStage(tasks, disk, replace(CONFIG, flush_messages=1))
            stage.lead()
            several = [stage.submit(KEY, record(KEY, number)) for number in range(3)]
            await until(lambda: len(stage.pool))
            disk.fail_next(Op.SYNC)
            stage.pool.run_next()
            await until(lambda: all(each.code is not None for each in several))
            assert [each.code for each in several] == [ErrorCode.NOT_COORDINATOR] * 3

    asyncio.run(scene())


def test_those_who_wait_for_a_sync_hear_that_the_partition_went_elsewhere() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks, FaultyDisk("/data"), replace(CONFIG, flush_messages=1))
            stage.lead()
            done = stage.submit(KEY, record(KEY, 1))
            await until(lambda: len(stage.pool))
            stage.runtime.lead({})
            assert done.code == ErrorCode.NOT_COORDINATOR
            stage.pool.run_next()
            await until(lambda: stage.log(2).recovery_point)
            for _ in range(5):  # what waited for the sync goes on
                await asyncio.sleep(0)

    asyncio.run(scene())


async def until_due(shard: Recorder, *deadlines: str) -> None:
    """Lets time pass, timer by timer, until these have come."""
    while shard.due != list(deadlines):  # noqa: ASYNC110 - it is time that has to pass
        await asyncio.sleep(0.001)
