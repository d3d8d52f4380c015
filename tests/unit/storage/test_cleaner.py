"""The cleaner of a node: logs are cleaned one after the other, whatever happens to them meanwhile."""

import asyncio
import errno
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.storage import names
from odradek.storage.cleaning.child import run_in_child
from odradek.storage.cleaning.choice import Candidate, CleanerSetting, candidate_of
from odradek.storage.cleaning.clean import clean
from odradek.storage.cleaning.cleaner import Cleaner, in_pool
from odradek.storage.cleaning.job import Job, Outcome
from odradek.storage.log import Log
from support.clock import ManualClock
from support.compaction import COMPACTED, close_segment, committed, latest, plan_all, put
from support.disk import FaultyDisk, Op
from support.logs import ORDERS, log_of, open_dirs, setting
from support.waiting import until


class House:
    """A node with two logs that are dirty."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.disk = FaultyDisk("/data")
        self.dirs = open_dirs(self.disk, given=setting(COMPACTED))
        self.logs = [log_of(self.dirs, TopicPartition("orders", number)) for number in range(2)]
        for log in self.logs:
            for number in range(5):
                put(log, ("same", str(number)))
            close_segment(log)
        self.setting = CleanerSetting(backoff_ms=1)
        self.pool = pool
        self.run = in_pool(self.disk, pool)
        self.ran = self.asked = 0

    def cleaner(self) -> Cleaner:
        async def run(job: Job) -> Outcome:
            self.ran += 1
            return await self.run(job)

        return Cleaner(self.dirs, self.pool, ManualClock(), self.ask, run)

    def ask(self) -> CleanerSetting:
        self.asked += 1
        return self.setting

    def leftovers(self, log: Log) -> list[str]:
        return [name for name in self.disk.tree(log.directory) if name.endswith((names.CLEANED, names.SWAP))]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def house(pool: ThreadPoolExecutor) -> House:
    return House(pool)


def test_logs_are_cleaned_until_none_is_dirty(house: House) -> None:
    async def act() -> list[bool]:
        cleaner = house.cleaner()
        return [await cleaner.clean_once() for _ in range(3)]

    assert asyncio.run(act()) == [True, True, False]
    assert [committed(log) for log in house.logs] == [[(4, "same", "4")]] * 2
    assert [log.cleaned_to for log in house.logs] == [5, 5]


def test_it_runs_until_it_is_cancelled(house: House) -> None:
    async def act() -> None:
        task = asyncio.get_running_loop().create_task(house.cleaner().run())
        await until(lambda: all(log.cleaned_to == 5 for log in house.logs))
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(act())


@pytest.mark.parametrize("off", [CleanerSetting(enable=False), CleanerSetting(threads=0)])
def test_it_can_be_turned_off(house: House, off: CleanerSetting) -> None:
    house.setting = replace(off, backoff_ms=1)

    async def act() -> None:
        task = asyncio.get_running_loop().create_task(house.cleaner().run())
        await until(lambda: house.asked > 3)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(act())
    assert house.ran == 0


def test_a_pause_ends_when_settings_change(house: House) -> None:
    house.setting = CleanerSetting(enable=False, backoff_ms=3_600_000)

    async def act() -> None:
        cleaner = house.cleaner()
        task = asyncio.get_running_loop().create_task(cleaner.run())
        await until(lambda: house.asked)
        house.setting = replace(house.setting, enable=True)
        cleaner.settings_changed()
        await until(lambda: all(log.cleaned_to == 5 for log in house.logs))
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(act())


def test_what_is_being_cleaned_is_begun_anew_with_other_settings(house: House) -> None:
    done, rates = house.run, []

    async def never_ends(job: Job) -> Outcome:
        rates.append(job.limits.bytes_per_second)
        if job.limits.bytes_per_second == 1:
            await asyncio.Event().wait()
        return await done(job)

    house.run = never_ends
    house.setting = CleanerSetting(io_max_bytes_per_second=1, backoff_ms=3_600_000)

    async def act() -> None:
        cleaner = house.cleaner()
        task = asyncio.get_running_loop().create_task(cleaner.run())
        await until(lambda: rates)
        cleaner.settings_changed()  # nothing that counts for it
        for _ in range(10):
            await asyncio.sleep(0)
        assert rates == [1]
        house.setting = replace(house.setting, io_max_bytes_per_second=float("inf"))
        cleaner.settings_changed()
        await until(lambda: all(log.cleaned_to == 5 for log in house.logs))
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(act())
    assert rates == [1, float("inf"), float("inf")]
    assert [house.leftovers(log) for log in house.logs] == [[], []]


def test_a_log_that_was_cut_meanwhile_is_left_as_it_is(house: House) -> None:
    log = house.logs[0]

    async def run(job: Job) -> Outcome:
        outcome = clean(house.disk, job)
        log.truncate_to(Offset(3))
        return outcome

    house.run = run
    asyncio.run(_once(house))
    assert [offset for offset, _, _ in committed(log)] == [0, 1, 2]
    assert log.cleaned_to is None
    assert house.leftovers(log) == []


def test_a_log_that_was_deleted_meanwhile_stays_deleted(house: House) -> None:
    async def run(job: Job) -> Outcome:
        outcome = clean(house.disk, job)
        house.dirs.delete(ORDERS)
        return outcome

    house.run = run
    asyncio.run(_once(house))
    assert house.dirs.get(ORDERS) is None


def test_segments_that_retention_took_meanwhile_do_not_come_back(house: House) -> None:
    log = house.logs[0]

    async def run(job: Job) -> Outcome:
        outcome = clean(house.disk, job)
        put(log, ("later", "1"))
        close_segment(log)
        log.advance_start(Offset(6))
        log.apply_retention(log.log_dir.clock.now_ms())
        return outcome

    house.run = run
    asyncio.run(_once(house))
    assert committed(log) == []
    assert house.leftovers(log) == []


def test_a_damaged_log_is_not_tried_again_and_the_others_are_cleaned(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(job: Job) -> Outcome:
        if job.directory == house.logs[0].directory:
            raise CorruptBatch("damaged")
        return clean(house.disk, job)

    house.run = run

    async def act() -> list[bool]:
        cleaner = house.cleaner()
        return [await cleaner.clean_once() for _ in range(3)]

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(act()) == [True, True, False]
    assert [log.cleaned_to for log in house.logs] == [None, 5]
    assert "damaged" in caplog.text


@pytest.mark.parametrize("error", [CorruptBatch("damaged"), OSError(errno.EIO, "damaged")], ids=["corrupt", "unread"])
def test_a_log_whose_times_cannot_be_read_does_not_keep_others_from_being_cleaned(
    house: House, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def look(log: Log, now: TimestampMs) -> Candidate | None:
        if log is house.logs[0]:
            raise error
        return candidate_of(log, now)

    monkeypatch.setattr("odradek.storage.cleaning.cleaner.candidate_of", look)

    async def act() -> list[bool]:
        cleaner = house.cleaner()
        return [await cleaner.clean_once() for _ in range(2)]

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(act()) == [True, False]
    assert [log.cleaned_to for log in house.logs] == [None, 5]
    assert "damaged" in [getattr(record, "reason", "")[-7:] for record in caplog.records]


def test_a_full_disk_leaves_the_log_as_it_is_and_it_is_tried_again(house: House) -> None:
    before = committed(house.logs[0])

    async def act() -> None:
        cleaner = house.cleaner()
        house.disk.fail_next(Op.WRITE, on=names.CLEANED)
        assert await cleaner.clean_once()
        assert committed(house.logs[0]) == before
        assert house.leftovers(house.logs[0]) == []
        task = asyncio.get_running_loop().create_task(cleaner.run())
        await until(lambda: all(log.cleaned_to == 5 for log in house.logs))
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(act())
    assert house.dirs.dirs[0].online


def test_a_swap_that_fails_takes_the_directory_out_of_service_and_recovery_ends_it(house: House) -> None:
    house.disk.fail_next(Op.RENAME, on=names.SWAP)
    asyncio.run(_once(house))
    assert not house.dirs.dirs[0].online
    house.dirs.abandon()
    again = open_dirs(house.disk, given=setting(COMPACTED))
    for log in again:
        log.advance_high_watermark(log.end_offset)  # as its leader does
    assert [latest(log) for log in again] == [{"same": "4"}] * 2


async def _once(house: House) -> None:
    assert await house.cleaner().clean_once()


# --- in a child process


@pytest.fixture
def on_disk(tmp_path: Path) -> Log:
    log = log_of(open_dirs(OsFiles(), str(tmp_path), given=setting(COMPACTED)))
    for number in range(50):
        put(log, (f"key {number % 3}", str(number)))
    close_segment(log)
    return log


@pytest.mark.slow
def test_a_child_does_what_is_done_here(on_disk: Log) -> None:
    chosen = plan_all(on_disk)
    assert chosen is not None
    outcome = asyncio.run(run_in_child(chosen.job))
    assert outcome == clean(OsFiles(), chosen.job)
    old = chosen.replaced_by(outcome)
    assert old is not None
    on_disk.replace_segments(old, outcome.made)
    assert committed(on_disk) == [(number, f"key {number % 3}", str(number)) for number in (47, 48, 49)]


@pytest.mark.slow
def test_a_child_tells_of_damage(on_disk: Log) -> None:
    path = Path(on_disk.segments[0].path(names.LOG))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    chosen = plan_all(on_disk)
    assert chosen is not None
    with pytest.raises(CorruptBatch, match="CRC"):
        asyncio.run(run_in_child(chosen.job))


@pytest.mark.slow
def test_a_child_that_is_no_longer_wanted_ends(on_disk: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = plan_all(on_disk)
    assert chosen is not None
    crawling = replace(chosen.job, limits=replace(chosen.job.limits, bytes_per_second=1.0))
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def start_and_tell(*args: str, **pipes: Any) -> asyncio.subprocess.Process:
        started.append(await start(*args, **pipes))
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_tell)

    async def act() -> None:
        task = asyncio.get_running_loop().create_task(run_in_child(crawling))
        await until(lambda: started)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert started[0].returncode is not None

    asyncio.run(act())


@pytest.mark.slow
def test_a_child_ends_with_the_one_who_started_it(on_disk: Log) -> None:
    """Else it would write into a directory that another process has by then."""
    chosen = plan_all(on_disk)
    assert chosen is not None
    crawling = replace(chosen.job, limits=replace(chosen.job.limits, bytes_per_second=1.0))
    command = [sys.executable, "-m", "odradek.storage.cleaning.child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(crawling.to_json() + b"\n")
        child.stdin.close()  # as the system does when a process dies
        assert child.wait() == 1
