"""What a node does for its logs from time to time."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from odradek.model.numbers import Offset, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.records.builder import BatchSpec
from odradek.storage import names
from odradek.storage.housekeeping import Housekeeping, Intervals
from support.clock import ManualClock
from support.disk import FaultyDisk, Op
from support.logs import NOW, ORDERS, SMALL, TOPIC_ID, append, log_of, open_dirs, setting, values
from support.pool import ManualPool

if TYPE_CHECKING:
    from odradek.storage.log_dirs import LogDirs

HOUR = 3_600_000
CONFIG = replace(SMALL, flush_ms=1000, retention_ms=HOUR)
CHECKPOINTS = (names.RECOVERY_POINTS, names.LOG_STARTS, names.HIGH_WATERMARKS, names.CLEANER_OFFSETS)


class House:
    """A node with two directories and three logs."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.disk = FaultyDisk("/a", "/b", clock=self.clock)
        self.dirs: LogDirs = open_dirs(self.disk, "/a", "/b", given=setting(CONFIG, self.clock))
        self.logs = [log_of(self.dirs, TopicPartition("orders", number)) for number in range(3)]
        self.pool = ThreadPoolExecutor(2)
        self.keeping = Housekeeping(self.dirs, self.pool, self.clock)

    def do(self, *duties: Coroutine[Any, Any, None]) -> None:
        async def all_of_them() -> None:
            for duty in duties:
                await duty
            await self.keeping.flusher.drain()

        asyncio.run(all_of_them())

    def checkpoint_late(self, meanwhile: Callable[[], object]) -> None:
        """The offsets are taken, then this happens, and only then they are written."""
        pool = ManualPool()
        keeping = Housekeeping(self.dirs, pool, self.clock)

        async def story() -> None:
            waiting = asyncio.ensure_future(keeping.checkpoint())
            await asyncio.sleep(0)
            meanwhile()
            while not waiting.done():
                if len(pool):
                    pool.run_next()
                await asyncio.sleep(0)

        asyncio.run(story())


@pytest.fixture
def house() -> House:
    return House()


def test_logs_are_flushed_when_their_time_has_come(house: House) -> None:
    append(house.logs[0], "a")
    append(house.logs[1], "b")
    house.do(house.keeping.flush())
    assert [log.recovery_point for log in house.logs] == [0, 0, 0]
    house.clock.advance(1000)
    house.do(house.keeping.flush())
    assert [log.recovery_point for log in house.logs] == [1, 1, 0]
    house.disk.counts.clear()
    house.clock.advance(1000)
    house.do(house.keeping.flush())
    assert house.disk.counts[Op.SYNC] == 0  # nothing is left to do


def test_a_closed_segment_is_flushed_at_once(house: House) -> None:
    append(house.logs[0], "a")
    house.logs[0].roll()
    append(house.logs[0], "b")
    house.do(house.keeping.flush())
    assert house.logs[0].recovery_point == 2


def test_a_directory_that_fails_its_flush_leaves_the_others(house: House) -> None:
    for log in house.logs:
        append(log, "a")
    house.clock.advance(1000)
    house.disk.fail_next(Op.SYNC, on="/a/")
    house.do(house.keeping.flush())
    assert [log_dir.online for log_dir in house.dirs.dirs] == [False, True]
    assert house.logs[1].recovery_point == 1
    house.clock.advance(1000)
    house.do(house.keeping.flush(), house.keeping.checkpoint(), house.keeping.apply_retention())


def test_checkpoints_are_written_where_something_changed(house: House) -> None:
    append(house.logs[0], "a")
    house.logs[0].sync()
    house.do(house.keeping.checkpoint())
    assert house.disk.read_whole("/a/recovery-point-offset-checkpoint") == b"0\n2\norders 0 1\norders 2 0\n"
    house.disk.counts.clear()
    house.do(house.keeping.checkpoint())
    assert house.disk.counts[Op.RENAME] == 0


def test_a_checkpoint_taken_earlier_does_not_overwrite_a_later_one(house: House) -> None:
    """A log is cut while the pool still has the offsets of before to write."""
    log = house.logs[0]
    append(log, "a")
    append(log, "b")
    log.sync()
    house.checkpoint_late(lambda: log.truncate_to(Offset(1)))
    assert b"orders 0 1\n" in house.disk.read_whole("/a/recovery-point-offset-checkpoint")


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_checkpoint_that_is_still_to_be_written_says_nothing_of_a_partition_that_was_made_anew(
    house: House, is_stored: bool
) -> None:
    """A topic is deleted and created again while the pool still has the offsets of before to write."""
    old, other = house.logs[0], house.logs[2]
    if is_stored:
        house.dirs.write_checkpoints()
    append(old, "a", "b", "c")
    old.sync()
    old.advance_high_watermark(Offset(3))
    old.advance_start(Offset(2))
    old.cleaned_to = Offset(2)
    append(other, "kept")
    other.sync()

    def make_anew() -> None:
        house.dirs.delete(old.partition)
        append(house.dirs.create(old.partition, TOPIC_ID, "/a"), "new")

    house.checkpoint_late(make_anew)
    stored = {name: house.disk.read_whole(f"/a/{name}") for name in CHECKPOINTS if house.disk.exists(f"/a/{name}")}
    assert not [name for name, data in stored.items() if b"orders 0" in data]
    assert b"orders 2 1\n" in stored["recovery-point-offset-checkpoint"]
    house.disk.crash()
    made = log_of(open_dirs(house.disk, "/a", "/b"), old.partition)
    assert (values(made), made.start_offset, made.recovery_point, made.cleaned_to) == (["new"], 0, 0, None)


def test_old_segments_go_and_it_is_said_why(house: House, caplog: pytest.LogCaptureFixture) -> None:
    for log in house.logs[:2]:
        append(log, "old", at=NOW - 2 * HOUR)
        log.roll()
        append(log, "new")
        log.advance_high_watermark(Offset(2))
    with caplog.at_level(logging.INFO):
        house.do(house.keeping.apply_retention())
    assert [values(log) for log in house.logs] == [["new"], ["new"], []]
    said = [(record.message, record.__dict__["partition"], record.__dict__["reason"]) for record in caplog.records]
    assert sorted(said) == [
        ("deleted old segments", "orders-0", "retention.ms"),
        ("deleted old segments", "orders-1", "retention.ms"),
    ]


def test_deleted_files_and_partitions_are_removed_in_time(house: House) -> None:
    log = house.logs[0]
    append(log, "old", at=NOW - 2 * HOUR)
    log.advance_high_watermark(Offset(1))
    house.do(house.keeping.apply_retention())
    house.dirs.delete(TopicPartition("orders", 1))
    house.do(house.keeping.remove())
    assert any(name.endswith(".deleted") for name in house.disk.tree("/a"))
    house.clock.advance(SMALL.file_delete_delay_ms)
    house.do(house.keeping.remove())
    assert not any(".deleted" in name or "-delete" in name for path in ("/a", "/b") for name in house.disk.tree(path))


def test_silent_producers_are_forgotten(house: House) -> None:
    append(house.logs[0], "a", spec=BatchSpec(producer_id=ProducerId(1), producer_epoch=0, base_sequence=0))
    house.do(house.keeping.expire_producers())
    assert len(house.logs[0].producers) == 1
    house.clock.advance(24 * HOUR)
    house.do(house.keeping.expire_producers())
    assert len(house.logs[0].producers) == 0


def test_a_partition_deleted_in_the_middle_of_a_round_is_skipped(house: House) -> None:
    for log in house.logs:
        append(log, "old", at=NOW - 2 * HOUR)
        log.advance_high_watermark(Offset(1))

    async def story() -> None:
        round = asyncio.ensure_future(house.keeping.apply_retention())
        await asyncio.sleep(0)
        house.dirs.delete(TopicPartition("orders", 2))
        await round

    asyncio.run(story())
    assert all(log_dir.online for log_dir in house.dirs.dirs)
    assert [log.start_offset for log in house.dirs] == [1, 1]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - there is nobody who could tell
        await asyncio.sleep(0.001)


def test_it_runs_until_it_is_cancelled(house: House) -> None:
    log = house.logs[0]
    append(log, "old", at=NOW - 2 * HOUR)
    log.advance_high_watermark(Offset(1))
    house.clock.advance(24 * HOUR)
    intervals = Intervals(flush_ms=1, checkpoint_ms=1, retention_ms=1, removal_ms=1, producer_expiry_ms=1)
    keeping = Housekeeping(house.dirs, house.pool, house.clock, intervals)

    async def story() -> None:
        async with asyncio.timeout(60):  # far more than it takes
            running = asyncio.ensure_future(keeping.run())
            await until(lambda: log.recovery_point == log.start_offset == 1)
            house.clock.advance(SMALL.file_delete_delay_ms)
            await until(lambda: not any(".deleted" in name for name in house.disk.tree("/a")))
            points = "recovery-point-offset-checkpoint"
            await until(lambda: b"orders 0 1\n" in house.disk.tree("/a").get(points, b""))
            running.cancel()
            await asyncio.wait([running])
            assert running.cancelled()
            await keeping.flusher.drain()

    asyncio.run(story())
    house.pool.shutdown()
    house.dirs.close()
    assert house.disk.open_handles == 0
    dirs = open_dirs(house.disk, "/a", "/b", given=setting(CONFIG, house.clock))
    assert dirs.events == []
    assert log_of(dirs, ORDERS).start_offset == 1


def test_checkpoints_forget_a_deleted_partition_soon_so_that_another_is_made_without_a_sync(house: House) -> None:
    log = house.logs[0]
    append(log, "a")
    log.sync()
    house.dirs.write_checkpoints()
    house.disk.syncs_by.clear()
    house.dirs.delete(log.partition)
    house.do(house.keeping.remove())
    assert b"orders 0" not in house.disk.read_whole("/a/recovery-point-offset-checkpoint")
    house.dirs.create(log.partition, TOPIC_ID, "/a")
    assert house.disk.syncs_by.total() > 0
    assert "MainThread" not in house.disk.syncs_by


def test_a_partition_is_made_while_a_thread_writes_checkpoints(house: House) -> None:
    log_dir = house.dirs.dirs[0]
    with log_dir._storing:  # as that thread has it
        making = Thread(target=house.dirs.create, args=(TopicPartition("new", 0), TOPIC_ID, "/a"), daemon=True)
        making.start()
        making.join(10)
        assert house.dirs.get(TopicPartition("new", 0)) is not None
