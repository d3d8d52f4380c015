"""Which segments retention takes, and what it leaves."""

from dataclasses import replace

import pytest

from odradek.model.numbers import Offset
from odradek.model.topic_config import CleanupPolicy
from odradek.records.batch import parse_head
from odradek.storage.log import Log
from odradek.storage.retention import Reason
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import NOW, SMALL, append, log_of, offsets_and_values, open_dirs, setting, values

HOUR = 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def disk(clock: ManualClock) -> FaultyDisk:
    return FaultyDisk("/data", clock=clock)


def five_segments(disk: FaultyDisk, clock: ManualClock, *, policy: tuple[CleanupPolicy, ...] = ("delete",)) -> Log:
    """One record in each, an hour apart, the last one now; every batch has 69 bytes."""
    config = replace(SMALL, retention_ms=-1, cleanup_policy=policy)
    log = log_of(open_dirs(disk, given=setting(config, clock)))
    for number in range(5):
        append(log, str(number), at=NOW - (4 - number) * HOUR)
        if number < 4:
            log.roll()
    log.advance_high_watermark(Offset(5))
    assert [segment.size for segment in log.segments] == [69] * 5
    return log


def test_without_limits_everything_stays(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock)
    clock.advance(10_000 * HOUR)
    assert log.apply_retention(clock.now_ms()) == (0, None)
    assert values(log) == ["0", "1", "2", "3", "4"]


def test_segments_go_when_their_newest_record_is_too_old(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock)
    log.config = replace(log.config, retention_ms=2 * HOUR)
    assert log.apply_retention(clock.now_ms()) == (2, Reason.TIME)
    assert offsets_and_values(log) == [(2, "2"), (3, "3"), (4, "4")]
    assert log.start_offset == 2
    clock.advance(1)
    assert log.apply_retention(clock.now_ms()) == (1, Reason.TIME)


def test_a_young_segment_keeps_the_older_ones_behind_it(disk: FaultyDisk, clock: ManualClock) -> None:
    log = log_of(open_dirs(disk, given=setting(replace(SMALL, retention_ms=HOUR), clock)))
    for number, age in enumerate((9, 0, 9)):
        append(log, str(number), at=NOW - age * HOUR)
        log.roll()
    log.advance_high_watermark(Offset(3))
    assert log.apply_retention(clock.now_ms()) == (1, Reason.TIME)
    assert values(log) == ["1", "2"]


def test_segments_go_while_the_rest_is_still_large_enough(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock)
    for limit, count in ((5 * 69, 0), (5 * 69 - 1, 0), (4 * 69 + 1, 0), (4 * 69, 1), (2 * 69, 2), (2 * 69 - 1, 0)):
        log.config = replace(log.config, retention_bytes=limit)
        assert log.apply_retention(clock.now_ms()) == (count, Reason.SIZE if count else None), limit
    assert values(log) == ["3", "4"]


def test_nothing_goes_past_the_high_watermark(disk: FaultyDisk, clock: ManualClock) -> None:
    config = replace(SMALL, retention_ms=HOUR, retention_bytes=0)
    log = log_of(open_dirs(disk, given=setting(config, clock)))
    for number in range(5):
        append(log, str(number), at=NOW - 9 * HOUR)
        log.roll()
    assert log.apply_retention(clock.now_ms()) == (0, None)
    log.advance_high_watermark(Offset(2))
    assert log.apply_retention(clock.now_ms()) == (2, Reason.SIZE)
    assert values(log) == ["2", "3", "4"]


def test_when_all_is_too_old_the_log_goes_on_in_a_new_segment(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock)
    log.config = replace(log.config, retention_ms=HOUR)
    clock.advance(9 * HOUR)
    assert log.apply_retention(clock.now_ms()) == (5, Reason.TIME)
    assert (log.start_offset, log.end_offset, values(log)) == (5, 5, [])
    assert [(segment.base_offset, segment.size) for segment in log.segments] == [(5, 0)]
    clock.advance(9 * HOUR)
    assert log.apply_retention(clock.now_ms()) == (0, None)  # the empty one stays
    append(log, "5", at=clock.now_ms())
    disk.crash()
    assert offsets_and_values(log_of(open_dirs(disk, given=setting(log.config, clock)))) == [(5, "5")]


def test_segments_below_the_start_go_whatever_the_policy(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock, policy=("compact",))
    log.advance_start(Offset(2))
    assert log.apply_retention(clock.now_ms()) == (2, Reason.START)
    assert [segment.base_offset for segment in log.segments] == [2, 3, 4]


def test_a_compacted_topic_has_no_other_limits(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock, policy=("compact",))
    log.config = replace(log.config, retention_ms=1, retention_bytes=1)
    clock.advance(100 * HOUR)
    assert log.apply_retention(clock.now_ms()) == (0, None)
    log.config = replace(log.config, cleanup_policy=("compact", "delete"))
    assert log.apply_retention(clock.now_ms())[0] == 5


def test_the_reason_is_that_of_the_last_segment_that_went(disk: FaultyDisk, clock: ManualClock) -> None:
    log = five_segments(disk, clock)
    log.advance_start(Offset(1))
    log.config = replace(log.config, retention_bytes=3 * 69, retention_ms=HOUR)
    assert log.apply_retention(clock.now_ms()) == (3, Reason.TIME)
    assert values(log) == ["3", "4"]


def test_without_times_in_the_records_that_of_the_file_counts(disk: FaultyDisk, clock: ManualClock) -> None:
    log = log_of(open_dirs(disk, given=setting(replace(SMALL, retention_ms=HOUR), clock)))
    append(log, "a", at=-1)
    log.roll()
    log.advance_high_watermark(Offset(1))
    assert log.apply_retention(clock.now_ms()) == (0, None)
    clock.advance(HOUR + 1)
    assert log.apply_retention(clock.now_ms()) == (1, Reason.TIME)


def test_files_stay_for_those_who_read_them_and_go_in_time(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_dirs(disk, given=setting(SMALL, clock))
    log = log_of(dirs)
    for number in range(5):
        append(log, str(number))
        log.roll()
    log.advance_high_watermark(Offset(5))
    reading = log.read(Offset(0), 1000)
    assert reading is not None
    file = reading.handle.pin()
    log.advance_start(Offset(2))
    log.apply_retention(clock.now_ms())
    deleted = sorted(name for name in disk.tree("/data/orders-0") if name.endswith(".deleted"))
    assert deleted == sorted(
        f"{base:020d}{suffix}.deleted" for base in (0, 1) for suffix in (".log", ".index", ".timeindex")
    )
    clock.advance(SMALL.file_delete_delay_ms - 1)
    dirs.remove_due(clock.now_ms())
    assert sorted(name for name in disk.tree("/data/orders-0") if name.endswith(".deleted")) == deleted
    clock.advance(1)
    dirs.remove_due(clock.now_ms())
    assert not any(name.endswith(".deleted") for name in disk.tree("/data/orders-0"))
    assert parse_head(file.read(69, 0)).base_offset == 0
    reading.handle.unpin()
    assert log.segments[0].base_offset == 2
