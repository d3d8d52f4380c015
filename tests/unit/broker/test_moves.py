"""Partitions that move between log directories: while they are written, and whatever else happens to them."""

import asyncio
import errno
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from odradek.broker.partitions.moves import LogDirNotFound
from odradek.broker.partitions.pace import Pace
from odradek.controller.errors import InvalidReplicaAssignment
from odradek.metadata.uuids import from_text
from odradek.model.errors import InvalidTopic, StorageFailed, UnknownTopicOrPartition
from odradek.model.numbers import Offset, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.records.builder import BatchSpec
from odradek.storage import names
from odradek.storage.cleaning.choice import CleanerSetting
from odradek.storage.cleaning.clean import clean
from odradek.storage.cleaning.cleaner import Cleaner, in_pool
from odradek.storage.cleaning.job import Job, Outcome
from odradek.storage.log_dir import LogDir
from odradek.storage.verify import Severity, Verification
from odradek.wire.records.metadata import BrokerRegistrationChangeRecord
from support import virtual_time
from support.clock import ManualClock
from support.compaction import COMPACTED, close_segment, compact, latest, put
from support.disk import FaultyDisk, Op
from support.logs import ORDERS, SMALL, append, end_txn, values
from support.metadata import commit_now
from support.move_stage import PATHS, MoveStage
from support.pool import AtOncePool, ManualPool
from support.waiting import until

PAYMENTS = TopicPartition("payments", 0)
LIMIT_S = 60


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def disk(clock: ManualClock) -> FaultyDisk:
    return FaultyDisk("/a", "/b", "/c", clock=clock)


@pytest.fixture
def stage(disk: FaultyDisk) -> MoveStage:
    """With `orders` of 100 records in /a."""
    made = MoveStage(disk)
    made.create()
    made.fill(0, 100)
    return made


def play(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S):
            await story()

    asyncio.run(main())


async def end(running: asyncio.Task[None], pool: ManualPool) -> None:
    running.cancel()
    while not running.done():
        if len(pool):
            pool.run_next()
        await asyncio.sleep(0)


def directories(disk: FaultyDisk, path: str) -> list[str]:
    """Of `orders`, without the ids in their names."""
    found = (entry.name for entry in disk.list(path) if entry.is_dir and entry.name.startswith("orders"))
    return sorted(name.partition(".")[0] + name.partition("-0")[2][-7:] for name in found)


# --- what comes of it


def test_a_partition_is_in_another_directory_with_all_that_it_has(stage: MoveStage, disk: FaultyDisk) -> None:
    log, checkpoint = stage.log(), "recovery-point-offset-checkpoint"
    assert len(log.segments) > 3

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        assert directories(disk, "/b") == ["orders-0-future"]
        await stage.run_moves(lambda: b"orders 0 100" in disk.read_whole(f"/b/{checkpoint}"))
        assert b"orders" not in disk.read_whole(f"/a/{checkpoint}")
        assert (stage.place(), stage.named()) == ("/b", "/b")
        assert stage.log() is log  # who knows it goes on with it
        assert (stage.numbers(), log.end_offset, log.high_watermark) == (list(range(100)), 100, 100)
        stage.fill(100, 120)
        assert directories(disk, "/a") == ["orders-0-delete"]
        assert directories(disk, "/b") == ["orders-0"]

    play(story)
    stage.close()
    again = MoveStage(disk)
    assert (again.place(), again.numbers()) == ("/b", list(range(120)))
    assert not [name for name in disk.tree("/b") if name.endswith(names.CLEANED)]


def test_the_old_directory_is_removed_in_time(stage: MoveStage, disk: FaultyDisk, clock: ManualClock) -> None:
    play(lambda: stage.move("/b"))
    stage.logs.remove_due(clock.now_ms())
    assert directories(disk, "/a") == ["orders-0-delete"]
    clock.advance(SMALL.file_delete_delay_ms)
    stage.logs.remove_due(clock.now_ms())
    assert directories(disk, "/a") == []


def test_back_and_forth(stage: MoveStage, disk: FaultyDisk) -> None:
    async def story() -> None:
        for round_, path in enumerate(("/b", "/a", "/c", "/b")):
            await stage.move(path)
            assert (stage.place(), stage.named()) == (path, path)
            stage.fill(100 + round_, 101 + round_)

    play(story)
    assert stage.numbers() == list(range(104))
    stage.close()
    assert MoveStage(disk).numbers() == list(range(104))


def test_an_empty_partition(disk: FaultyDisk) -> None:
    stage = MoveStage(disk)
    stage.create()
    play(lambda: stage.move("/b"))
    assert (stage.place(), stage.log().end_offset) == ("/b", 0)
    stage.fill(0, 3)
    assert stage.numbers() == [0, 1, 2]


def test_a_partition_that_begins_later(stage: MoveStage, disk: FaultyDisk, clock: ManualClock) -> None:
    """Inside a segment, which only a checkpoint tells; the segments before it are gone."""
    log = stage.log()
    log.advance_start(Offset(45))
    log.apply_retention(clock.now_ms())
    assert 0 < log.segments[0].base_offset < 45
    play(lambda: stage.move("/b"))
    assert (log.start_offset, stage.numbers()) == (45, list(range(45, 100)))
    disk.crash()
    again = MoveStage(disk)
    assert (again.place(), again.log().start_offset, again.numbers()) == ("/b", 45, list(range(45, 100)))


def test_producers_and_transactions_move_too(disk: FaultyDisk) -> None:
    stage = MoveStage(disk)
    log = stage.create()
    for number in range(40):
        spec = BatchSpec(producer_id=ProducerId(7), producer_epoch=0, base_sequence=number, transactional=True)
        append(log, str(number), spec=spec)
        if number % 10 == 9:
            end_txn(log, 7, 0, commit=number % 20 == 19)
    append(
        log, "open", spec=BatchSpec(producer_id=ProducerId(8), producer_epoch=0, base_sequence=0, transactional=True)
    )
    log.advance_high_watermark(log.end_offset)
    before = (log.aborted_txns(Offset(0), log.end_offset), log.last_stable_offset, log.epochs, list(log.producers))
    assert len(before[0]) == 2
    play(lambda: stage.move("/b"))
    assert (
        log.aborted_txns(Offset(0), log.end_offset),
        log.last_stable_offset,
        log.epochs,
        list(log.producers),
    ) == before
    again = append(
        log, "39", spec=BatchSpec(producer_id=ProducerId(7), base_sequence=39, producer_epoch=0, transactional=True)
    )
    assert again.duplicate
    disk.crash()
    found = MoveStage(disk).log()
    assert (found.aborted_txns(Offset(0), found.end_offset), found.last_stable_offset) == before[:2]
    assert {each.id: each.last_sequence for each in found.producers} == {7: 39, 8: 0}


def test_a_compacted_partition_stays_clean(disk: FaultyDisk) -> None:
    stage = MoveStage(disk, COMPACTED)
    log = stage.create()
    for number in range(30):
        put(log, (f"key {number % 3}", str(number)))
    close_segment(log)
    log.cleaned_to = Offset(20)
    play(lambda: stage.move("/b"))
    assert (log.cleaned_to, latest(log)) == (20, {f"key {number % 3}": str(number) for number in range(27, 30)})
    stage.close()
    assert b"orders 0 20\n" in disk.read_whole("/b/cleaner-offset-checkpoint")


def test_what_is_verified_afterwards(stage: MoveStage, disk: FaultyDisk) -> None:
    play(lambda: stage.move("/b"))
    stage.fill(100, 130)
    stage.close()
    verification = Verification(disk)
    for path in PATHS:
        verification.add(path)
    assert [finding for finding in verification.run() if finding.severity is Severity.ERROR] == []


# --- while other things happen


def test_it_is_written_all_the_while(disk: FaultyDisk) -> None:
    """Whatever a thread has copied, more is there when it is done."""
    pool = ManualPool()
    stage = MoveStage(disk, pool=pool)
    stage.create()
    stage.fill(0, 60)

    async def story() -> None:
        written, jobs = 60, 0
        await stage.moves.begin(ORDERS, "/b")
        running = asyncio.get_running_loop().create_task(stage.moves.run())
        while stage.place() == "/a":
            await until(lambda: len(pool) or stage.place() == "/b")
            if jobs % 3 == 0:
                stage.fill(written, written + 1)
                written += 1
                assert stage.numbers() == list(range(written))
            while len(pool):
                pool.run_next()
                jobs += 1
        stage.fill(written, written + 1)
        assert written > 70
        assert stage.numbers() == list(range(written + 1))
        await end(running, pool)

    play(story)


def test_what_is_copied_of_a_segment_can_be_told(disk: FaultyDisk) -> None:
    """A segment may have a gigabyte, and is no part of the new log before it is there."""
    pool = ManualPool()
    stage = MoveStage(disk, pool=pool)
    log = stage.create()
    stage.fill(0, 60)
    first = log.segments[0].size

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        future = stage.logs.future_of(ORDERS)
        assert future is not None
        running = asyncio.get_running_loop().create_task(stage.moves.run())
        told = set[int]()
        while stage.place() == "/a":
            await until(lambda: len(pool) or stage.place() == "/b")
            while len(pool):
                pool.run_next()
            told |= {future.arriving_bytes if future.size == 0 else 0}
        assert first in told
        assert future.arriving_bytes == 0
        await end(running, pool)

    play(story)


def test_a_sync_that_is_under_way_when_it_moves(disk: FaultyDisk) -> None:
    """It was asked for in the old directory, and all that it was to make safe is safe in the new one."""
    stage = MoveStage(disk)
    log = stage.create()
    stage.fill(0, 30)
    job = log.begin_sync()
    play(lambda: stage.move("/b"))
    log.end_sync(job, OSError("the directory is gone"))
    assert all(each.online for each in stage.logs.dirs)
    assert log.recovery_point == 30
    assert disk.open_handles < 10


def test_a_topic_that_is_deleted_meanwhile(stage: MoveStage, disk: FaultyDisk) -> None:
    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves(lambda: disk.used("/b") > 3000)
        stage.delete()
        await stage.run_moves()

    play(story)
    assert (directories(disk, "/a"), directories(disk, "/b")) == (["orders-0-delete"], ["orders-0-delete"])
    stage.create("orders")
    assert stage.numbers() == []


def test_another_directory_meanwhile(stage: MoveStage, disk: FaultyDisk) -> None:
    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves(lambda: disk.used("/b") > 3000)
        await stage.moves.begin(ORDERS, "/b")  # it is on its way there
        assert directories(disk, "/b") == ["orders-0-future"]
        await stage.moves.begin(ORDERS, "/c")
        assert directories(disk, "/b") == ["orders-0-delete"]
        await stage.run_moves()

    play(story)
    assert (stage.place(), stage.named(), stage.numbers()) == ("/c", "/c", list(range(100)))


def test_another_directory_before_it_has_begun(stage: MoveStage) -> None:
    """It is asked for twice, and there is one log to write to."""

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.moves.begin(ORDERS, "/c")
        await stage.run_moves()

    stage.log().roll()
    play(story)
    assert (stage.place(), stage.named(), stage.numbers()) == ("/c", "/c", list(range(100)))


def test_to_stay_after_all(stage: MoveStage, disk: FaultyDisk) -> None:
    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.moves.begin(ORDERS, "/a")
        await stage.run_moves()

    play(story)
    assert (stage.place(), directories(disk, "/a"), directories(disk, "/b")) == (
        "/a",
        ["orders-0"],
        ["orders-0-delete"],
    )


def test_retention_that_is_faster(stage: MoveStage, disk: FaultyDisk, clock: ManualClock) -> None:
    log = stage.log()

    def delete_old_records_meanwhile() -> bool:
        if disk.used("/b") > 2000 and log.start_offset == 0:
            assert stage.logs.future_of(ORDERS) is not None
            log.advance_start(Offset(95))
            log.apply_retention(clock.now_ms())
            assert log.segments[0].base_offset > 80
        return stage.logs.future_of(ORDERS) is None

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves(delete_old_records_meanwhile)

    play(story)
    assert (stage.place(), stage.numbers()) == ("/b", list(range(95, 100)))


def test_a_node_that_stops_and_starts_goes_on(stage: MoveStage, disk: FaultyDisk) -> None:
    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves(lambda: disk.used("/b") > 3000)

    play(story)
    stage.fill(100, 105)
    stage.close()
    again = MoveStage(disk)
    future = again.logs.future_of(ORDERS)
    assert future is not None
    assert future.end_offset > 0
    play(again.run_moves)
    assert (again.place(), again.numbers()) == ("/b", list(range(105)))


def test_what_is_far_behind_when_it_goes_on_within_the_active_segment_is_copied_too(
    disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move stopped within the segment that is still written to, and finds more to copy than is left to the loop."""
    monkeypatch.setattr("odradek.storage.move._TAIL_BYTES", 2000)
    monkeypatch.setattr("odradek.storage.move._BREATH_BYTES", 200)
    stage = MoveStage(disk, TopicConfig())
    stage.create()
    stage.fill(0, 10)

    def is_begun() -> bool:
        future = stage.logs.future_of(ORDERS)
        return future is None or future.end_offset > 3

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves(is_begun)

    play(story)
    future = stage.logs.future_of(ORDERS)
    assert future is not None
    assert 0 < future.end_offset < 10
    stage.close()
    again = MoveStage(disk, TopicConfig())
    again.fill(10, 110)
    play(again.run_moves)
    assert (again.place(), again.numbers()) == ("/b", list(range(110)))


def test_segments_that_compaction_has_emptied(disk: FaultyDisk) -> None:
    config = replace(COMPACTED, segment_bytes=1200)
    stage = MoveStage(disk, config)
    log = stage.create()
    for number in range(60):
        put(log, (f"key {max(0, number - 49)}", str(number) + "x" * 40))
    log.sync()
    compact(log)
    assert [each.size for each in log.segments][:2] == [0, 0]
    before = latest(log), log.end_offset
    play(lambda: stage.move("/b"))
    for _ in range(2):
        moved = stage.log()
        assert (stage.place(), moved.start_offset, latest(moved), moved.end_offset) == ("/b", 0, *before)
        stage.close()
        stage = MoveStage(disk, config)


# --- disks that fail


def test_a_target_that_is_full_ends_the_move_and_nothing_else(stage: MoveStage, disk: FaultyDisk) -> None:
    disk.set_capacity(disk.used("/b") + 2500, under="/b")
    play(lambda: stage.move("/b"))
    assert (stage.place(), stage.named(), directories(disk, "/b")) == ("/a", None, ["orders-0-delete"])
    assert all(each.online for each in stage.logs.dirs)
    assert stage.numbers() == list(range(100))


def test_a_source_that_cannot_be_read(stage: MoveStage, disk: FaultyDisk) -> None:
    disk.fail_next(Op.READ, on="/a/orders-0/00000000000000000000.log")
    play(lambda: stage.move("/b"))
    assert stage.place() == "/a"
    assert stage.logs.future_of(ORDERS) is None


def test_a_target_that_fails_is_left_alone(stage: MoveStage, disk: FaultyDisk) -> None:
    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        disk.fail_next(Op.RENAME, on="/b/orders-0")
        await stage.run_moves()

    play(story)
    assert (stage.place(), stage.numbers()) == ("/a", list(range(100)))
    assert [each.online for each in stage.logs.dirs] == [True, False, True]
    with pytest.raises(StorageFailed):
        stage.begin("/b")


# --- what is refused


def test_refusals(stage: MoveStage, disk: FaultyDisk) -> None:
    with pytest.raises(LogDirNotFound):
        stage.begin("/d")
    with pytest.raises(InvalidTopic):
        stage.begin("/b", TopicPartition("x" * 214, 0))
    stage.logs.unusable.append("/e")
    with pytest.raises(StorageFailed):
        stage.begin("/e")
    meta = stage.logs.dirs[1].meta
    assert meta is not None
    assert meta.directory_id is not None
    change = BrokerRegistrationChangeRecord(
        broker_id=1,
        broker_epoch=stage.image.brokers[1].epoch,
        cordoned_log_dirs=(from_text(meta.directory_id),),
    )
    commit_now(stage.metadata, (change,))
    with pytest.raises(InvalidReplicaAssignment):
        stage.begin("/b")
    assert directories(disk, "/b") == []


def test_a_partition_that_is_still_to_come(stage: MoveStage) -> None:
    for path in ("/b", "/c"):
        with pytest.raises(UnknownTopicOrPartition):
            stage.begin(path, PAYMENTS)
    stage.logs.create(PAYMENTS, "Kq6pOCYTQtqkJn4sW6DLcw")
    log = stage.logs.get(PAYMENTS)
    assert log is not None
    assert log.log_dir.path == "/c"


def test_a_cleaning_that_is_under_way_is_thrown_away(disk: FaultyDisk) -> None:
    stage = MoveStage(disk, COMPACTED)
    log = stage.create()
    for number in range(30):
        put(log, (f"key {number % 3}", str(number)))
    close_segment(log)

    async def begin_a_move_meanwhile(job: Job) -> Outcome:
        outcome = clean(disk, job)
        await stage.moves.begin(ORDERS, "/b")
        return outcome

    async def story() -> None:
        cleaner = Cleaner(stage.logs, AtOncePool(), disk.clock, CleanerSetting, begin_a_move_meanwhile)
        assert await cleaner.clean_once()
        assert not await cleaner.clean_once()
        assert len(values(log)) == 30
        await stage.run_moves()
        assert (stage.place(), len(values(log))) == ("/b", 30)
        cleaner = Cleaner(stage.logs, AtOncePool(), disk.clock, CleanerSetting, in_pool(disk, AtOncePool()))
        assert await cleaner.clean_once()
        assert len(values(log)) < 30

    play(story)


# --- not faster than it may


def test_bytes_a_second() -> None:
    rate: list[int | None] = [1000]
    pace = Pace(lambda: rate[0])

    async def story() -> list[float]:
        loop, begun = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        times = []
        for _ in range(3):
            await pace.spend(500)
            times.append(loop.time() - begun)
        rate[0] = None
        await pace.spend(1_000_000)
        await pace.spend(1_000_000)
        times.append(loop.time() - begun)
        return times

    assert virtual_time.run(story()) == pytest.approx([0.0, 0.5, 1.0, 1.0])


def test_a_rate_that_is_raised_meanwhile() -> None:
    rate: list[int | None] = [1]
    pace = Pace(lambda: rate[0])

    async def story() -> float:
        loop = asyncio.get_running_loop()
        await pace.spend(1_000_000)
        begun = loop.time()
        loop.call_later(5, rate.__setitem__, 0, 1_000_000)
        await pace.spend(1)
        return loop.time() - begun

    assert 5 < virtual_time.run(story()) < 7


def test_nothing_a_second() -> None:
    rate: list[int | None] = [0]
    pace = Pace(lambda: rate[0])

    async def story() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        loop.call_later(60, rate.__setitem__, 0, 10)
        await pace.spend(1)
        return loop.time() - begun

    assert 60 <= virtual_time.run(story()) < 61


def test_the_loop_waits_for_no_sync(disk: FaultyDisk) -> None:
    with ThreadPoolExecutor(2, thread_name_prefix="disk") as pool:
        stage = MoveStage(disk, pool=pool)
        stage.create()
        stage.fill(0, 100)
        stage.log().advance_start(Offset(7))  # inside a segment, which only a checkpoint remembers

        async def story() -> None:
            disk.syncs_by.clear()
            await stage.moves.begin(ORDERS, "/c")
            await stage.moves.begin(ORDERS, "/b")
            await stage.run_moves()

        play(story)
        assert (stage.place(), stage.named(), stage.numbers()) == ("/b", "/b", list(range(7, 100)))
        assert disk.syncs_by.total() > 5
        assert "MainThread" not in disk.syncs_by


def test_what_is_appended_in_the_last_step_waits_for_its_end(stage: MoveStage) -> None:
    log, flusher = stage.log(), stage.broker.flusher
    waited: list[str] = []

    def look() -> bool:
        if log.is_held:
            stage.fill(log.end_offset, log.end_offset + 1)
            stage.logs.update_config("orders", (0,))  # it changes nothing about that
            assert log.durable_end < log.end_offset
            done = flusher.request(log)
            done.add_done_callback(lambda _: waited.append(log.directory))
        return stage._is_quiet()

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves(look)
        await until(lambda: not flusher._syncing)

    play(story)
    assert len(waited) > 5
    assert set(waited) == {"/b/orders-0"}
    assert log.durable_end == log.end_offset
    assert stage.numbers() == list(range(log.end_offset))


@pytest.mark.parametrize("turns", range(16))
def test_a_partition_that_is_sent_elsewhere_in_the_last_step(stage: MoveStage, turns: int) -> None:
    log = stage.log()

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        moving = asyncio.get_running_loop().create_task(stage.run_moves(lambda: stage.place() == "/c"))
        await until(lambda: log.is_held)
        for _ in range(turns):
            await asyncio.sleep(0)
        await stage.moves.begin(ORDERS, "/c")
        await moving
        await stage.run_moves()

    play(story)
    assert (stage.place(), stage.named(), stage.log()) == ("/c", "/c", log)
    assert stage.numbers() == list(range(100))
    stage.fill(100, 101)
    assert not log.is_held
    stage.close()
    again = MoveStage(stage.disk)
    assert (again.place(), again.numbers()) == ("/c", list(range(101)))


@pytest.mark.parametrize("turns", range(16))
def test_a_topic_that_is_deleted_in_the_last_step(stage: MoveStage, disk: FaultyDisk, turns: int) -> None:
    log = stage.log()

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        moving = asyncio.get_running_loop().create_task(stage.run_moves())
        await until(lambda: log.is_held)
        for _ in range(turns):
            await asyncio.sleep(0)
        stage.delete()
        await moving

    play(story)
    assert stage.logs.get(ORDERS) is None
    assert {name for path in PATHS for name in directories(disk, path)} == {"orders-0-delete"}
    stage.close()
    assert MoveStage(disk).logs.get(ORDERS) is None


@pytest.mark.parametrize("turns", range(16))
def test_a_node_that_stops_in_the_last_step_ends_it_first(stage: MoveStage, turns: int) -> None:
    """Or else the metadata would name a directory without what is acknowledged when nothing is held any more."""
    log = stage.log()

    async def story() -> None:
        await stage.moves.begin(ORDERS, "/b")
        running = asyncio.get_running_loop().create_task(stage.moves.run())
        await until(lambda: log.is_held)
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert not log.is_held
        stage.fill(log.end_offset, log.end_offset + 1)

    play(story)
    assert (stage.place(), stage.named()) == ("/b", "/b")
    stage.close()
    again = MoveStage(stage.disk)
    assert (again.place(), again.numbers()) == ("/b", list(range(101)))


def test_one_move_of_a_partition_at_a_time() -> None:
    disk = FaultyDisk("/a", "/b", "/c")
    stage = MoveStage(disk)

    async def story() -> None:
        stage.create()
        stage.fill(0, 10)
        log, moves = stage.log(), stage.moves
        is_assigning, go_on = asyncio.Event(), asyncio.Event()
        assign = moves._assign
        was_held = []

        async def slow(where: TopicPartition, log_dir: LogDir) -> bool:
            if log_dir.path == "/b":
                is_assigning.set()
                await go_on.wait()
            was_held.append((log_dir.path, log.is_held))
            return await assign(where, log_dir)

        moves._assign = slow  # type: ignore[method-assign]
        running = asyncio.get_running_loop().create_task(moves.run())
        await moves.begin(ORDERS, "/b")
        await is_assigning.wait()
        await moves.begin(ORDERS, "/c")
        for _ in range(100):
            await asyncio.sleep(0)
        go_on.set()
        await until(stage._is_quiet)
        running.cancel()
        await asyncio.wait([running])
        assert log.directory == "/c/orders-0"
        assert was_held[-1] == ("/c", True)
        assert not log.is_held
        assert log.config.flush_messages > 1

    play(story)


def test_a_deleted_topic_is_out_of_service_though_its_future_log_cannot_be_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = FaultyDisk("/a", "/b")
    stage = MoveStage(disk)

    async def story() -> None:
        stage.create()
        stage.fill(0, 10)
        old = stage.log()
        await stage.moves.begin(ORDERS, "/b")
        rename = disk.rename

        def failing(path: str, to: str) -> None:
            if path.startswith("/b/"):
                raise OSError(errno.EIO, "Input/output error")
            rename(path, to)

        monkeypatch.setattr(disk, "rename", failing)
        stage.delete()
        stage.create()
        assert stage.log() is not old
        assert stage.numbers() == []

    play(story)
