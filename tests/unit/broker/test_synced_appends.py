"""With flush.messages: what readers see while what was appended is being synced."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from odradek.broker.coordination.markers import Marker
from odradek.broker.partitions.partition import Partition
from odradek.model.errors import NotLeaderOrFollower, StorageFailed
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.records.batch import parse_head
from odradek.records.builder import PLAIN, BatchSpec
from odradek.storage.flush import Flusher
from support.disk import FaultyDisk, Op
from support.logs import ORDERS, SMALL, append, batch, log_of, open_dirs, setting, values
from support.move_stage import MoveStage
from support.pool import AtOncePool, ManualPool
from support.waiting import until

if TYPE_CHECKING:
    from odradek.storage.log import Log

EVERY_RECORD = replace(SMALL, flush_messages=1)
WRITER = ProducerId(7)


class Listening:
    """A fetch that waits."""

    def __init__(self) -> None:
        self.heard = 0
        self.has_ended = False

    def arrived(self, size: int) -> None:
        self.heard += size

    def end(self) -> None:
        self.has_ended = True


class Stage:
    def __init__(self, flush_messages: int) -> None:
        self.disk = FaultyDisk("/data")
        self.pool = ManualPool()
        self.dirs = open_dirs(self.disk, given=setting(replace(SMALL, flush_messages=flush_messages), self.disk.clock))
        self.log: Log = log_of(self.dirs)
        self.partition = Partition(self.log, LeaderEpoch(0), self.disk.clock, Flusher(self.pool))
        self.plain, self.committed = Listening(), Listening()
        self.partition.waiters.readers[self.plain] = None
        self.partition.stable.readers[self.committed] = None

    def produce(self, *values: str, spec: BatchSpec = PLAIN) -> int:
        """How large that is."""
        made = batch(*values, spec=spec)
        self.partition.produce(made, is_joined=spec.transactional)
        return len(made)

    def end_transaction(self) -> None:
        self.partition.end_transaction(Marker(WRITER, 1, True, 0, 2))

    async def sync(self) -> None:
        """One that is under way ends, and the next begins."""
        self.pool.run_next()
        for _ in range(5):
            await asyncio.sleep(0)

    @property
    def seen(self) -> tuple[int, int]:
        """By readers of all records, and of those that are committed."""
        return self.log.high_watermark, self.log.last_stable_offset

    @property
    def heard(self) -> tuple[int, int]:
        return self.plain.heard, self.committed.heard


def tell(story: Callable[[Stage], Coroutine[Any, Any, None]], flush_messages: int = 1) -> Stage:
    stage = Stage(flush_messages)
    asyncio.run(story(stage))
    return stage


def in_transaction(sequence: int) -> BatchSpec:
    return BatchSpec(producer_id=WRITER, producer_epoch=0, base_sequence=sequence, transactional=True)


def test_a_record_is_seen_when_it_is_synced_whether_anybody_waits_for_that_or_not() -> None:
    async def story(stage: Stage) -> None:
        size = stage.produce("a")
        assert (stage.seen, stage.heard) == ((0, 0), (0, 0))
        await stage.sync()
        assert (stage.seen, stage.heard) == ((1, 1), (size, size))
        assert len(stage.pool) == 0

    tell(story)


def test_one_of_a_coordinator_too() -> None:
    async def story(stage: Stage) -> None:
        made = batch("a")
        stage.partition.append(made, parse_head(made))
        assert stage.seen == (0, 0)
        await stage.sync()
        assert stage.seen == (1, 1)

    tell(story)


def test_what_is_appended_during_a_sync_waits_for_the_next() -> None:
    async def story(stage: Stage) -> None:
        first = stage.produce("a")
        rest = stage.produce("b", "c") + stage.produce("d")
        await stage.sync()
        assert (stage.seen, stage.heard) == ((1, 1), (first, first))
        await stage.sync()
        assert (stage.seen, stage.heard) == ((4, 4), (first + rest, first + rest))
        assert len(stage.pool) == 0

    tell(story)


def test_those_that_need_no_sync_are_seen_at_once() -> None:
    async def story(stage: Stage) -> None:
        sizes = [stage.produce("a"), stage.produce("b")]
        assert (stage.seen, stage.heard[0]) == ((2, 2), sum(sizes))
        sizes.append(stage.produce("c"))
        assert (stage.seen, stage.heard[0]) == ((2, 2), sum(sizes[:2]))
        sizes.append(stage.produce("d"))
        await stage.sync()  # of the first three: the fourth is within what may be lost
        assert (stage.seen, stage.heard[0]) == ((4, 4), sum(sizes))

    tell(story, flush_messages=3)


def test_a_transaction_is_open_until_its_end_is_synced() -> None:
    async def story(stage: Stage) -> None:
        stage.produce("a", spec=in_transaction(0))
        await stage.sync()
        assert stage.seen == (1, 0)
        stage.end_transaction()
        assert (stage.seen, stage.committed.heard) == ((1, 0), 0)
        await stage.sync()
        assert stage.seen == (2, 2)
        assert stage.heard[0] == stage.heard[1]

    tell(story)


def test_what_was_not_synced_is_never_seen() -> None:
    async def story(stage: Stage) -> None:
        stage.produce("kept")
        await stage.sync()
        stage.produce("lost")
        stage.produce("lost, too")
        stage.disk.fail_next(Op.SYNC, on=".log")
        await stage.sync()
        assert stage.seen == (1, 1)
        assert stage.dirs.dirs[0].offline_reason is not None
        assert stage.plain.has_ended
        assert stage.committed.has_ended
        with pytest.raises(StorageFailed):
            stage.produce("refused")

    stage = tell(story)
    assert (stage.seen, len(stage.pool)) == ((1, 1), 0)


def test_what_was_seen_is_there_after_power_was_lost() -> None:
    async def story(stage: Stage) -> None:
        for number in range(5):
            stage.produce(str(number))
            stage.produce(f"{number} again")
            await stage.sync()
        assert 0 < stage.log.high_watermark < stage.log.end_offset

    stage = tell(story)
    seen = values(stage.log)[: stage.log.high_watermark]
    stage.disk.power_loss()
    assert values(log_of(open_dirs(stage.disk)))[: len(seen)] == seen


def test_a_log_that_is_cut_during_a_sync_is_synced_anew() -> None:
    async def story(stage: Stage) -> None:
        for value in "abc":
            stage.produce(value)
        stage.log.truncate_to(Offset(1))
        assert stage.seen == (0, 0)
        stage.produce("another b")
        await stage.sync()
        assert stage.seen == (0, 0), "what lies there now was written later"
        await stage.sync()
        assert stage.seen == (2, 2)
        assert len(stage.pool) == 0

    tell(story)


def test_a_log_that_is_deleted_during_a_sync_shows_nothing_more() -> None:
    async def story(stage: Stage) -> None:
        stage.produce("a")
        stage.dirs.delete(ORDERS)
        await stage.sync()
        assert (stage.seen, stage.heard, len(stage.pool)) == ((0, 0), (0, 0), 0)

    stage = tell(story)
    assert stage.dirs.dirs[0].offline_reason is None


def test_one_who_leads_no_more_settles_nothing() -> None:
    async def story(stage: Stage) -> None:
        stage.produce("a")
        stage.partition.fail(NotLeaderOrFollower("another does"))
        assert stage.plain.has_ended
        await stage.sync()
        assert stage.seen == (0, 0)

    tell(story)


def test_settings_that_ask_for_no_sync_any_more() -> None:
    async def story(stage: Stage) -> None:
        first = stage.produce("a")
        stage.log.config = SMALL
        second = stage.produce("b")
        assert stage.seen == (2, 2)
        await stage.sync()
        assert (stage.seen, stage.heard[0]) == ((2, 2), first + second)

    tell(story)


@pytest.mark.parametrize("does_fail", [False, True])
def test_a_log_that_moves_during_a_sync_shows_what_was_synced_where_it_is_now(does_fail: bool) -> None:
    disk = FaultyDisk("/a", "/b", "/c")
    pool = ManualPool()

    async def story() -> None:
        stage = MoveStage(disk, EVERY_RECORD, AtOncePool())
        stage.create()
        partition = Partition(stage.log(), LeaderEpoch(0), disk.clock, Flusher(pool))
        partition.produce(batch("a"))
        await stage.moves.begin(ORDERS, "/b")
        await stage.run_moves()
        assert stage.place() == "/b"
        assert partition.log.high_watermark == 0
        if does_fail:
            disk.fail_next(Op.SYNC)
        pool.run_next()
        await until(lambda: partition.log.high_watermark == 1)

    asyncio.run(story())
    disk.power_loss()
    assert values(MoveStage(disk, EVERY_RECORD).log()) == ["a"]


def test_a_leader_begins_with_what_is_durable() -> None:
    disk = FaultyDisk("/data")
    log = log_of(open_dirs(disk, given=setting(EVERY_RECORD, disk.clock)))
    append(log, "a")
    assert Partition(log, LeaderEpoch(0), disk.clock, Flusher(ManualPool())).log.high_watermark == 0
    log.sync()
    assert Partition(log, LeaderEpoch(0), disk.clock, Flusher(ManualPool())).log.high_watermark == 1
