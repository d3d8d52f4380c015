"""Syncs off the loop: one serves all who wait for it, and nobody's end hurts the others."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from odradek.model.errors import StorageFailed
from odradek.model.numbers import Offset
from odradek.storage.flush import RUNNING_MAX, Flusher
from odradek.storage.log import Log
from support.disk import FaultyDisk, Op
from support.failures import collected
from support.logs import SMALL, append, open_log, values
from support.pool import ManualPool

EVERY_RECORD = replace(SMALL, flush_messages=1)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk, EVERY_RECORD)


async def settle(flusher: Flusher, log: Log) -> None:
    """Wait until what was appended is durable, as far as flush.messages asks for it."""
    if log.durable_end < log.end_offset:
        await asyncio.shield(flusher.request(log))


async def let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def run(pool: ManualPool) -> None:
    """One sync, and what follows from it."""
    pool.run_next()
    await let_others_run()


Story = Callable[[Flusher, ManualPool], Coroutine[Any, Any, None]]


def tell(story: Story) -> None:
    pool = ManualPool()
    asyncio.run(story(Flusher(pool), pool))
    assert len(pool) == 0


def test_one_sync_serves_all_who_wait(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(EVERY_RECORD, segment_bytes=1 << 20))

    async def story(flusher: Flusher, pool: ManualPool) -> None:
        async with asyncio.TaskGroup() as tasks:
            disk.counts.clear()
            append(log, "first")
            first = tasks.create_task(settle(flusher, log))
            await let_others_run()
            assert len(pool) == 1
            others = []
            for number in range(50):  # while that sync is under way
                append(log, str(number))
                others.append(tasks.create_task(settle(flusher, log)))
            await let_others_run()
            assert len(pool) == 1
            await run(pool)
            assert first.done()
            assert not any(task.done() for task in others)
            assert log.recovery_point == 1  # what was appended since is not counted
            await run(pool)
            assert all(task.done() for task in others)
            assert log.recovery_point == 51
        assert disk.counts[Op.SYNC] <= 2 + 2  # of the log, and of the small files that were new

    tell(story)


def test_a_sync_that_is_under_way_serves_those_who_ask_for_nothing_more(log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        first = flusher.request(log)
        assert flusher.request(log) is first
        append(log, "b")
        second = flusher.request(log)
        assert second is not first
        await run(pool)
        assert (first.done(), second.done()) == (True, False)
        log.truncate_to(Offset(1))
        append(log, "another b")  # ends where the one did that the sync reaches
        third = flusher.request(log)
        assert third is not second
        await run(pool)
        await run(pool)
        assert third.done()
        assert log.recovery_point == 2

    tell(story)


def test_what_was_settled_survives_power_loss(disk: FaultyDisk, log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        for number in range(3):
            append(log, str(number))
            waiting = asyncio.ensure_future(settle(flusher, log))
            await let_others_run()
            await run(pool)
            await waiting
        append(log, "not settled")

    tell(story)
    disk.power_loss()
    assert values(open_log(disk)) == ["0", "1", "2"]


def test_without_a_limit_nothing_is_synced(disk: FaultyDisk) -> None:
    log = open_log(disk)

    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        await settle(flusher, log)
        assert len(pool) == 0

    tell(story)


def test_every_third_record_is_a_limit_too(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(SMALL, flush_messages=3))

    async def story(flusher: Flusher, pool: ManualPool) -> None:
        for number in range(2):
            append(log, str(number))
            await settle(flusher, log)
        append(log, "third")
        waiting = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        await run(pool)
        await waiting
        assert log.recovery_point == 3

    tell(story)


def test_one_who_gives_up_does_not_take_the_others_along(log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        first = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        append(log, "b")
        second, third, fourth = (asyncio.ensure_future(settle(flusher, log)) for _ in range(3))
        await let_others_run()
        for given_up in (first, third):
            given_up.cancel()
        await let_others_run()
        assert [task.cancelled() for task in (first, second, third, fourth)] == [True, False, True, False]
        await run(pool)
        assert not second.done()
        assert not fourth.done()
        await run(pool)
        assert second.done()
        assert fourth.done()
        assert log.recovery_point == 2

    tell(story)


def test_when_all_gave_up_the_sync_still_counts(log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        waiting = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        waiting.cancel()
        await let_others_run()
        await run(pool)
        assert log.recovery_point == 1
        await flusher.drain()

    tell(story)


def test_a_sync_that_fails_fails_the_directory_and_all_who_wait(disk: FaultyDisk, log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        first = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        append(log, "b")
        second = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        disk.fail_next(Op.SYNC, on=".log")
        await run(pool)
        for waiting in (first, second):
            with pytest.raises(StorageFailed, match="Input/output error"):
                await waiting
        assert log.recovery_point == 0
        with pytest.raises(StorageFailed, match="is offline"):
            append(log, "c")
        # A second sync might succeed, and mean nothing: the kernel has dropped what it could not write.
        with pytest.raises(StorageFailed, match="is offline"):
            await flusher.request(log)
        await flusher.drain()

    tell(story)
    log.abandon()
    assert disk.open_handles == 0


def fail(*_: object) -> None:
    raise ValueError("a bug")


@pytest.mark.parametrize("step", ["begin_sync", "run_sync", "end_sync"])
def test_a_bug_in_a_sync_fails_the_directory_and_all_who_wait(
    disk: FaultyDisk, log: Log, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        monkeypatch.setattr(Log, step, fail)
        first = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        second = asyncio.ensure_future(settle(flusher, log))
        await let_others_run()
        if len(pool):
            await run(pool)
        for waiting in (first, second):
            with pytest.raises(StorageFailed, match="a bug"):
                await waiting
        monkeypatch.undo()
        assert log.recovery_point == 0
        with pytest.raises(StorageFailed, match="is offline"):
            append(log, "b")
        await flusher.drain()

    with collected() as lines:
        tell(story)
    assert lines[0].startswith("a sync failed in a way that nobody expected")
    log.abandon()
    assert step == "end_sync" or disk.open_handles == 0


def test_a_sync_that_cannot_begin_fails_those_who_asked(disk: FaultyDisk, log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        log.roll()
        append(log, "b")
        for segment in log.segments:
            segment.release()
        disk.fail_next(Op.OPEN, on=".index")
        with pytest.raises(StorageFailed, match="Input/output error"):
            await flusher.request(log)

    tell(story)
    log.abandon()
    assert disk.open_handles == 0


def test_files_are_kept_open_while_a_sync_needs_them(disk: FaultyDisk, log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        for number in range(5):
            append(log, str(number))
            log.roll()
        waiting = flusher.request(log)
        log.advance_high_watermark(Offset(5))
        log.advance_start(Offset(5))
        log.apply_retention(log.log_dir.clock.now_ms())  # takes the files out of the log meanwhile
        await let_others_run()
        await run(pool)
        await waiting
        assert log.recovery_point == 5
        assert all(count <= 1 for count in disk.handles.values())

    tell(story)
    log.abandon()
    assert disk.open_handles == 0


def test_logs_do_not_wait_for_each_other(disk: FaultyDisk, log: Log) -> None:
    other = open_log(FaultyDisk("/data"), EVERY_RECORD)

    async def story(flusher: Flusher, pool: ManualPool) -> None:
        for each in (log, other):
            append(each, "a")
        first, second = (asyncio.ensure_future(settle(flusher, each)) for each in (log, other))
        await let_others_run()
        assert len(pool) == 2
        disk.fail_next(Op.SYNC)
        await run(pool)
        await run(pool)
        with pytest.raises(StorageFailed):
            await first
        await second

    tell(story)


def test_a_few_logs_are_synced_at_a_time(disk: FaultyDisk) -> None:
    logs = [open_log(FaultyDisk("/data"), EVERY_RECORD) for _ in range(RUNNING_MAX + 3)]

    async def story(flusher: Flusher, pool: ManualPool) -> None:
        for each in logs:
            append(each, "a")
        settled = [asyncio.ensure_future(settle(flusher, each)) for each in logs]
        await let_others_run()
        assert len(pool) == RUNNING_MAX
        append(logs[-1], "b")  # its sync has not begun: it serves this one, too
        late = asyncio.ensure_future(settle(flusher, logs[-1]))
        for left in (RUNNING_MAX, RUNNING_MAX, RUNNING_MAX, 3, 2, 1, 0):
            await run(pool)
            assert len(pool) == left
        await asyncio.gather(*settled, late)
        assert logs[-1].recovery_point == 2

    tell(story)


def test_drain_waits_for_the_syncs_that_follow_too(log: Log) -> None:
    async def story(flusher: Flusher, pool: ManualPool) -> None:
        append(log, "a")
        flusher.request(log)
        append(log, "b")
        flusher.request(log)
        drained = asyncio.ensure_future(flusher.drain())
        await let_others_run()
        await run(pool)
        assert not drained.done()
        await run(pool)
        await drained
        assert log.recovery_point == 2

    tell(story)


def test_with_real_threads_every_settled_record_is_safe(disk: FaultyDisk, log: Log) -> None:
    async def story(pool: ThreadPoolExecutor) -> None:
        flusher = Flusher(pool)

        async def send(name: str) -> None:
            for number in range(20):
                append(log, f"{name}{number}")
                await settle(flusher, log)

        async with asyncio.TaskGroup() as tasks:
            for name in "abcdefgh":
                tasks.create_task(send(name))
        await flusher.drain()

    disk.counts.clear()
    with ThreadPoolExecutor(2) as pool:
        asyncio.run(story(pool))
    disk.power_loss()
    assert sorted(values(open_log(disk))) == sorted(f"{name}{number}" for name in "abcdefgh" for number in range(20))
