"""Finding records by their time."""

from dataclasses import replace
from random import Random

import pytest

from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.records.batch import stamp_append_time
from odradek.storage.log import Log
from support.disk import FaultyDisk, Op
from support.logs import NOW, SMALL, append, append_batch, batch, log_of, open_dirs, open_log, setting, timed_batch


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk)


def found(log: Log, time: int) -> tuple[int, int] | None:
    """Offset and time of the first record at or after NOW + `time`; times count from NOW."""
    answer = log.find_time(TimestampMs(NOW + time))
    return (answer.offset, answer.timestamp - NOW) if answer else None


def test_the_first_record_at_or_after_a_time(log: Log) -> None:
    for time in (10, 20, 30):
        append(log, "x", at=NOW + time)
    assert [found(log, time) for time in (0, 10, 11, 20, 30, 31)] == [(0, 10), (0, 10), (1, 20), (1, 20), (2, 30), None]


def test_an_empty_log_has_no_times(log: Log) -> None:
    assert found(log, -NOW) is None
    assert log.find_max_time() is None


def test_of_the_same_time_the_first_record_counts(log: Log) -> None:
    for _ in range(3):
        append(log, "x", "y", at=NOW + 5)
    assert found(log, 5) == (0, 5)
    newest = log.find_max_time()
    assert newest is not None
    assert newest.offset == 0


def test_within_a_batch_the_record_is_found(log: Log) -> None:
    append_batch(log, timed_batch([("a", NOW + 5), ("b", NOW + 9), ("c", NOW + 7)]), LeaderEpoch(4))
    assert [found(log, time) for time in (5, 6, 8, 9, 10)] == [(0, 5), (1, 9), (1, 9), (1, 9), None]
    newest = log.find_max_time()
    assert newest == (1, NOW + 9, 4)


@pytest.mark.slow
def test_times_that_do_not_rise_are_found_all_the_same(disk: FaultyDisk) -> None:
    for seed in range(10):
        rng = Random(seed)
        dirs = open_dirs(disk, given=setting(replace(SMALL, segment_bytes=rng.choice([300, 1000, 10_000]))))
        log = dirs.create(log_of(dirs).partition._replace(partition=seed + 1), "Kq6pOCYTQtqkJn4sW6DLcw")
        times: list[int] = []
        for _ in range(200):
            some = [rng.randrange(100) for _ in range(rng.randrange(1, 4))]
            append_batch(log, timed_batch([("x", NOW + time) for time in some]), LeaderEpoch(0))
            times += some
        for time in range(-1, 102):
            expected = next(((offset, each) for offset, each in enumerate(times) if each >= time), None)
            assert found(log, time) == expected, (seed, time)
        newest = log.find_max_time()
        assert newest is not None
        assert (newest.offset, newest.timestamp - NOW) == (times.index(max(times)), max(times))
        dirs.close()


def test_deleted_records_are_not_found(log: Log) -> None:
    append_batch(log, timed_batch([("a", NOW + 50), ("b", NOW + 10)]), LeaderEpoch(0))
    append(log, "c", at=NOW + 20)
    append(log, "d", at=NOW + 50)
    log.advance_high_watermark(Offset(4))
    log.advance_start(Offset(1))
    assert found(log, 15) == (2, 20)  # not the one that made its batch match
    assert found(log, 50) == (3, 50)
    log.advance_start(Offset(3))
    assert found(log, 0) == (3, 50)


def test_append_time_is_the_time_of_every_record(log: Log) -> None:
    sent = batch("a", "b", at=NOW)
    stamp_append_time(sent, TimestampMs(NOW + 77))
    append_batch(log, sent, LeaderEpoch(0))
    assert found(log, 50) == (0, 77)


def test_records_without_a_time_are_never_found(log: Log) -> None:
    append(log, "a", at=-1)
    assert log.find_time(TimestampMs(0)) is None
    assert log.find_max_time() is None


def test_times_are_found_across_segments_and_after_reopening(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(200):
        append(log, "x", at=NOW + number * 10)
    assert len(log.segments) > 10
    dirs.close()
    log = log_of(open_dirs(disk))
    for number in range(200):
        assert found(log, number * 10) == (number, number * 10)
    disk.counts.clear()
    assert found(log, 1000) == (100, 1000)
    assert disk.counts[Op.READ] < 20  # not the whole log


def test_the_newest_record_is_found_where_a_later_segment_is_older(log: Log) -> None:
    append(log, "a", at=NOW + 100)
    log.roll()
    append(log, "b", at=NOW + 50)
    newest = log.find_max_time()
    assert newest is not None
    assert newest.offset == 0
    assert found(log, 60) == (0, 100)
