"""Which log is cleaned next, and how far."""

from dataclasses import replace

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.storage.cleaning.choice import CleanerSetting, candidate_of, dirtiest
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from support.compaction import COMPACTED, close_segment, compact, put
from support.disk import FaultyDisk
from support.logs import NOW, log_of, open_dirs, setting

HOUR = 3_600_000


@pytest.fixture
def dirs() -> LogDirs:
    return open_dirs(FaultyDisk("/data"), given=setting(COMPACTED))


def make(dirs: LogDirs, number: int, segments: int, **config: object) -> Log:
    log = log_of(dirs, TopicPartition("orders", number))
    log.config = replace(log.config, **config)  # type: ignore[arg-type]
    for each in range(segments):
        put(log, (f"key {each}", "1"), at=NOW - (segments - each) * HOUR)
        close_segment(log)
    return log


def test_an_empty_log_and_one_without_closed_segments_are_not_dirty(dirs: LogDirs) -> None:
    log = make(dirs, 0, 0)
    assert candidate_of(log, NOW) is None
    put(log, ("a", "1"))
    assert candidate_of(log, NOW) is None


def test_the_share_of_dirty_bytes_decides(dirs: LogDirs) -> None:
    log = make(dirs, 0, 3, min_cleanable_dirty_ratio=0.5)
    found = candidate_of(log, NOW)
    assert found is not None
    assert (found.ratio, found.first_dirty, found.end, len(found.segments)) == (1.0, 0, 3, 3)
    log.cleaned_to = Offset(2)
    found = candidate_of(log, NOW)
    assert found is not None
    assert found.ratio == pytest.approx(1 / 3)
    assert not found.is_worthwhile
    assert dirtiest(candidate_of(log, NOW) for log in dirs) is None


def test_the_dirtiest_comes_first(dirs: LogDirs) -> None:
    make(dirs, 0, 4).cleaned_to = Offset(2)
    wanted = make(dirs, 1, 4)
    wanted.cleaned_to = Offset(1)
    make(dirs, 2, 4).cleaned_to = Offset(3)
    make(dirs, 3, 4, cleanup_policy=("delete",))
    found = dirtiest(candidate_of(log, NOW) for log in dirs)
    assert found is not None
    assert found.log is wanted


def test_young_records_are_safe(dirs: LogDirs) -> None:
    log = make(dirs, 0, 3, min_compaction_lag_ms=2 * HOUR)  # records of three, two and one hour ago
    found = candidate_of(log, NOW)
    assert found is not None
    assert found.end == 2
    assert candidate_of(log, TimestampMs(NOW - 2 * HOUR)) is None


def test_a_record_that_waited_too_long_is_cleaned_however_small_the_dirty_part(dirs: LogDirs) -> None:
    log = make(dirs, 0, 4, min_cleanable_dirty_ratio=0.9, max_compaction_lag_ms=90 * 60_000)
    log.cleaned_to = Offset(3)
    assert dirtiest(candidate_of(log, NOW) for log in dirs) is None  # it is an hour old
    found = dirtiest(candidate_of(log, TimestampMs(NOW + 31 * 60_000)) for log in dirs)
    assert found is not None
    assert found.is_overdue


def test_nothing_past_the_high_watermark_or_unsynced_is_cleaned(dirs: LogDirs) -> None:
    log = make(dirs, 0, 3)
    log.recovery_point = Offset(2)
    found = candidate_of(log, NOW)
    assert found is not None
    assert found.end == 2
    log.high_watermark = Offset(1)
    found = candidate_of(log, NOW)
    assert found is not None
    assert found.end == 1


@pytest.mark.parametrize("wrong", [0, 100])
def test_a_checkpoint_that_cannot_be_of_this_log_counts_for_nothing(dirs: LogDirs, wrong: int) -> None:
    log = make(dirs, 0, 3)
    log.advance_start(Offset(1))
    log.cleaned_to = Offset(wrong)
    found = candidate_of(log, NOW)
    assert found is not None
    assert found.first_dirty == 1


def test_a_cut_lowers_how_far_the_log_is_clean(dirs: LogDirs) -> None:
    log = make(dirs, 0, 3)
    compact(log)
    assert log.cleaned_to == 3
    log.truncate_to(Offset(2))
    assert log.cleaned_to == 2


def test_memory_is_shared_by_the_threads() -> None:
    assert CleanerSetting().dedupe_bytes == int((128 << 20) * 0.9)
    assert CleanerSetting(threads=4).dedupe_bytes == int((32 << 20) * 0.9)
