"""Logs that are truncated while a node serves: the loop waits for no disk, and a crash at any point does no harm."""

import asyncio
from random import Random

import pytest

from odradek.model.errors import CorruptBatch, OutOfPlace, StorageFailed
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from odradek.storage.truncation import start_anew, truncate
from support.disk import SYNCS, FaultyDisk, Op, disks_after_death
from support.logs import ORDERS, append, log_of, open_dirs, open_log, values
from support.pool import AtOncePool, ManualPool

OTHERS = TopicPartition("others", 0)
COUNT = 30
OLD = [f"old {number}" for number in range(COUNT)]
NEW = [f"new {number}" for number in range(8)]


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


def fill(log: Log) -> None:
    for value in OLD:
        append(log, value)


def syncs(disk: FaultyDisk) -> int:
    return sum(disk.counts[op] for op in SYNCS)


def test_the_loop_syncs_nothing_and_checkpoints_are_written_once(disk: FaultyDisk) -> None:
    dirs, pool = open_dirs(disk), ManualPool()
    logs = [log_of(dirs, TopicPartition("orders", number)) for number in range(120)]
    for log in logs:
        fill(log)
    dirs.write_checkpoints()

    taken = dirs.dirs[0]._taken

    async def main() -> None:
        disk.counts.clear()
        truncating = asyncio.get_running_loop().create_task(truncate(dict.fromkeys(logs, Offset(3)), pool))
        turns = 0
        while not len(pool):
            await asyncio.sleep(0)
            turns += 1
        assert turns == 3, "others are served in between"
        assert (syncs(disk), len(pool)) == (0, 1)
        assert {log.end_offset for log in logs} == {3}
        assert values(logs[0]) == OLD[:3]
        pool.run_next()
        assert syncs(disk) <= 2 * len(logs) + 8, "a directory and a file for each log, and four checkpoints"
        disk.counts.clear()
        await truncating
        assert syncs(disk) == 0
        assert dirs.dirs[0]._taken == taken + 1, "the offsets of all logs were taken once"

    asyncio.run(main())
    for log in logs:
        append(log, "new")
        assert values(log) == [*OLD[:3], "new"]
    assert not [name for name in disk.tree("/data") if name.endswith(".deleted")]


def test_nothing_is_appended_before_it_has_ended(disk: FaultyDisk) -> None:
    log = open_log(disk)
    fill(log)
    job = log.begin_truncation(Offset(5))
    assert job is not None
    with pytest.raises(RuntimeError, match="truncation"):
        append(log, "new")
    job.cut()
    log.end_truncation(job, None)
    append(log, "new")
    assert values(log) == [*OLD[:5], "new"]


def test_it_comes_to_its_end_where_the_caller_is_cancelled(disk: FaultyDisk) -> None:
    log, pool = open_log(disk), ManualPool()
    fill(log)

    async def main() -> None:
        truncating = asyncio.get_running_loop().create_task(truncate({log: Offset(5)}, pool))
        await asyncio.sleep(0)
        truncating.cancel()
        await asyncio.sleep(0)
        assert not truncating.done()
        pool.run_next()
        await asyncio.wait([truncating])
        assert truncating.cancelled()

    asyncio.run(main())
    append(log, "new")
    assert values(log) == [*OLD[:5], "new"]


@pytest.mark.parametrize(("op", "on"), [(Op.SYNC_DIR, "/a/"), (Op.SYNC, "/a/orders-0"), (Op.SYNC, "/a/recovery")])
def test_where_a_disk_fails_logs_on_others_are_truncated(op: Op, on: str) -> None:
    disk = FaultyDisk("/a", "/b")
    dirs = open_dirs(disk, "/a", "/b")
    log, other = dirs.create(ORDERS, "i" * 22, "/a"), dirs.create(OTHERS, "i" * 22, "/b")
    fill(log)
    fill(other)
    disk.fail_next(op, on=on)
    with pytest.raises(StorageFailed):
        asyncio.run(truncate({log: Offset(5), other: Offset(7)}, AtOncePool()))
    assert [each.online for each in dirs.dirs] == [False, True]
    append(other, "new")
    assert values(other) == [*OLD[:7], "new"]


def test_a_partition_that_is_deleted_meanwhile(disk: FaultyDisk) -> None:
    dirs, pool = open_dirs(disk), ManualPool()
    fill(log_of(dirs))

    async def main() -> None:
        truncating = asyncio.get_running_loop().create_task(truncate({log_of(dirs): Offset(5)}, pool))
        await asyncio.sleep(0)
        dirs.delete(ORDERS)
        pool.run_next()
        await truncating

    asyncio.run(main())
    assert dirs.dirs[0].online


# --- crashes


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0, 4, 12, 25])
@pytest.mark.parametrize("power_loss", [False, True], ids=["killed", "power loss"])
def test_what_was_cut_does_not_come_back_beside_what_is_appended(offset: int, power_loss: bool) -> None:
    """Everything old was synced and checkpointed: a crash must not have that believed of what is in its place now."""
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    for where in (ORDERS, OTHERS):
        fill(log_of(dirs, where))
        log_of(dirs, where).sync()
    dirs.write_checkpoints()
    dirs.close()
    ended, synced = [False], [0]

    def act(tried: FaultyDisk) -> None:
        ended[0], synced[0] = False, 0
        dirs = open_dirs(tried)
        log, other = log_of(dirs), log_of(dirs, OTHERS)
        asyncio.run(truncate({log: Offset(offset), other: Offset(2)}, AtOncePool()))
        ended[0] = True
        for number, value in enumerate(NEW):
            append(log, value, epoch=3)
            if number % 3 == 2:
                log.roll()
            if number == 4:
                log.sync()
                synced[0] = 5

    short = [*OLD[:offset], *NEW]
    for left in disks_after_death(disk, act):
        for seed in range(8 if power_loss else 1):
            tried = left.copy()
            if power_loss:
                tried.power_loss(Random(seed))
            dirs = open_dirs(tried)
            found = values(log_of(dirs))
            is_short = found == short[: len(found)] and len(found) >= offset + synced[0]
            is_between = found == OLD[: len(found)] and len(found) >= offset
            assert is_short or (is_between and not ended[0])
            others = values(log_of(dirs, OTHERS))
            assert others == OLD[: 2 if ended[0] else len(others)]
            check_epochs(log_of(dirs))
            check_goes_on(dirs)


def check_epochs(log: Log) -> None:
    for head, record in log.records(log.start_offset):
        assert log.epochs.epoch_of(record.offset) == head.leader_epoch


def check_goes_on(dirs: LogDirs) -> None:
    log = log_of(dirs)
    append(log, "goes on", epoch=4)
    assert values(log)[-1] == "goes on"
    dirs.close()


def test_a_log_that_starts_anew_goes_on_there(disk: FaultyDisk) -> None:
    log = open_log(disk)
    fill(log)
    asyncio.run(start_anew(log, Offset(1000), AtOncePool()))
    append(log, "new")
    assert (log.start_offset, log.end_offset, values(log)) == (1000, 1001, ["new"])


# --- what a leader sends


def test_a_last_batch_that_is_cut_is_ignored(disk: FaultyDisk) -> None:
    leader, follower = open_log(disk), open_log(FaultyDisk("/data"))
    for value in OLD:
        append(leader, value)
    sent = leader.read(Offset(0), 500)
    assert sent is not None
    data = sent.read()
    ends = [follower.replicate(memoryview(data)[:size]) for size in (0, 5, 30)]
    assert ends == [0, 0, 0]
    end = follower.replicate(memoryview(data))
    assert 0 < end < 10
    assert values(follower) == OLD[:end]
    with pytest.raises(OutOfPlace):
        follower.replicate(memoryview(data))
    with pytest.raises(CorruptBatch):
        follower.replicate(memoryview(bytes(100)))
