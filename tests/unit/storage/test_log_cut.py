"""Truncation: the log ends earlier, and everything that depends on its end follows."""

import pytest

from odradek.model.errors import OffsetOutOfRange
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.builder import BatchSpec
from odradek.storage.log import Appended, Log
from support.disk import FaultyDisk
from support.logs import (
    NOW,
    append,
    end_txn,
    log_of,
    offsets_and_values,
    open_dirs,
    open_log,
    values,
)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk)


def idempotent(producer: int, sequence: int, *, transactional: bool = False) -> BatchSpec:
    return BatchSpec(
        producer_id=ProducerId(producer), producer_epoch=0, base_sequence=sequence, transactional=transactional
    )


def fill(log: Log, count: int) -> None:
    """Batches of two records, three batches in each segment, an epoch for each segment, times that rise."""
    for number in range(count):
        append(log, f"{number}a", f"{number}b", at=NOW + number, epoch=number // 3)
        if number % 3 == 2:
            log.roll()


def test_at_or_past_the_end_nothing_happens(log: Log) -> None:
    fill(log, 4)
    for offset in (8, 9, 99):
        log.truncate_to(Offset(offset))
        assert log.end_offset == 8


@pytest.mark.parametrize(
    ("offset", "end", "segments"),
    [
        (7, 6, 2),
        (6, 6, 2),
        (5, 4, 1),
        (4, 4, 1),
        (3, 2, 1),
        (1, 0, 1),
        (0, 0, 1),
        (15, 14, 3),
        (12, 12, 3),
        (13, 12, 3),
    ],
)
def test_a_batch_that_reaches_the_offset_goes_whole(log: Log, offset: int, end: int, segments: int) -> None:
    fill(log, 10)
    everything = offsets_and_values(log)
    log.truncate_to(Offset(offset))
    assert log.end_offset == end
    assert offsets_and_values(log) == everything[:end]
    assert len(log.segments) == segments
    assert append(log, "new", at=NOW + 500) == Appended(Offset(end), Offset(end))
    assert offsets_and_values(log) == [*everything[:end], (end, "new")]
    answer = log.find_time(TimestampMs(NOW + 400))
    assert answer is not None
    assert answer.offset == end


def test_the_files_are_those_of_a_log_that_never_was_longer() -> None:
    cut, plain = FaultyDisk("/data"), FaultyDisk("/data")
    for disk, count in ((cut, 40), (plain, 20)):
        dirs = open_dirs(disk)
        log = log_of(dirs)
        for number in range(count):
            append(log, f"{number}" + "x" * 40, at=NOW + number)
        log.truncate_to(Offset(20))
        append(log, "last", at=NOW + 900)
        dirs.close()
    same = ("orders-0/", "recovery", "replication", "log-start")
    cut_tree, plain_tree = cut.tree("/data"), plain.tree("/data")
    assert {name: data for name, data in cut_tree.items() if name.startswith(same)} == {
        name: data for name, data in plain_tree.items() if name.startswith(same)
    }


def test_high_watermark_recovery_point_and_epochs_follow(log: Log) -> None:
    fill(log, 10)
    log.advance_high_watermark(Offset(20))
    log.sync()
    log.truncate_to(Offset(7))
    assert (log.high_watermark, log.recovery_point, log.end_offset) == (6, 6, 6)
    assert list(log.epochs.entries) == [(0, 0)]
    append(log, "x", epoch=9)
    assert list(log.epochs.entries) == [(0, 0), (9, 6)]


def test_producers_are_as_they_were_at_that_offset(log: Log) -> None:
    for sequence in range(6):
        append(log, str(sequence), spec=idempotent(1, sequence))
        if sequence % 2:
            log.roll()
    append(log, "other", spec=idempotent(2, 0))
    log.truncate_to(Offset(3))
    assert log.producers.get(ProducerId(2)) is None
    assert append(log, "3", spec=idempotent(1, 3)) == Appended(Offset(3), Offset(3))
    assert append(log, "3", spec=idempotent(1, 3))[:3] == (3, 3, True)


def test_a_transaction_that_lost_its_marker_is_open_again(log: Log) -> None:
    append(log, "a", spec=idempotent(1, 0, transactional=True))
    end_txn(log, 1, 0, commit=False)
    log.advance_high_watermark(Offset(2))
    assert log.last_stable_offset == 2
    assert len(log.aborted_txns(Offset(0), Offset(2))) == 1
    log.truncate_to(Offset(1))
    assert log.last_stable_offset == 0
    assert log.aborted_txns(Offset(0), Offset(2)) == []
    end_txn(log, 1, 0, commit=True)
    log.advance_high_watermark(Offset(2))
    assert log.last_stable_offset == 2
    assert log.aborted_txns(Offset(0), Offset(2)) == []


def test_a_transaction_that_lost_its_beginning_is_forgotten(log: Log) -> None:
    append(log, "before")
    append(log, "a", spec=idempotent(1, 0, transactional=True))
    log.truncate_to(Offset(1))
    log.advance_high_watermark(Offset(1))
    assert log.last_stable_offset == 1


def test_to_before_the_start_of_the_first_segment_the_log_starts_anew(log: Log, disk: FaultyDisk) -> None:
    fill(log, 10)
    log.advance_high_watermark(Offset(20))
    log.advance_start(Offset(13))
    log.apply_retention(NOW)
    assert log.segments[0].base_offset == 12
    log.truncate_to(Offset(5))
    assert (log.start_offset, log.end_offset, log.high_watermark, values(log)) == (5, 5, 5, [])
    assert log.epochs.entries == ()
    append(log, "new", epoch=9)
    assert offsets_and_values(log) == [(5, "new")]
    disk.crash()
    assert offsets_and_values(open_log(disk)) == [(5, "new")]


def test_to_below_the_start_inside_a_segment_nothing_comes_back(log: Log) -> None:
    append(log, "a")
    append(log, "b")
    append(log, "c")
    log.advance_high_watermark(Offset(3))
    log.advance_start(Offset(2))
    log.truncate_to(Offset(1))
    assert (log.start_offset, log.end_offset, values(log)) == (1, 1, [])
    append(log, "new")
    assert offsets_and_values(log) == [(1, "new")]


def test_a_follower_far_behind_starts_anew_ahead(log: Log, disk: FaultyDisk) -> None:
    fill(log, 10)
    log.start_anew(Offset(1000))
    assert (log.start_offset, log.end_offset) == (1000, 1000)
    append(log, "new")
    with pytest.raises(OffsetOutOfRange):
        log.read(Offset(5), 100)
    disk.crash()
    log = open_log(disk)
    assert offsets_and_values(log) == [(1000, "new")]
    assert [segment.base_offset for segment in log.segments] == [1000]


def test_a_slice_taken_before_a_cut_is_read_through_its_pin(log: Log) -> None:
    fill(log, 9)
    taken = log.read(Offset(12), 1000)
    assert taken is not None
    taken.handle.pin()
    log.truncate_to(Offset(0))
    assert len(taken.read()) == taken.size
    taken.handle.unpin()


def test_the_log_is_cut_again_and_again(log: Log) -> None:
    for _round in range(5):
        fill(log, 7)
        log.truncate_to(Offset(log.end_offset - 5))
        assert len(values(log)) == log.end_offset
    log.truncate_to(Offset(0))
    append(log, "x", epoch=99)
    assert (log.epochs.epoch_of(Offset(0)), values(log)) == (LeaderEpoch(99), ["x"])
