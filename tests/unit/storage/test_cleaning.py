"""What a cleaning leaves of a log, and what it does not touch."""

from dataclasses import replace

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, ProducerId
from odradek.model.topic_config import CleanupPolicy
from odradek.records.batch import BatchHead, Codec
from odradek.records.builder import BatchSpec
from odradek.storage import batches, names
from odradek.storage.cleaning.choice import CleanerSetting
from odradek.storage.cleaning.job import Job, Outcome
from odradek.storage.log import Log
from support.compaction import COMPACTED, close_segment, committed, compact, latest, plan_all, put
from support.disk import FaultyDisk
from support.logs import NOW, end_txn, log_of, open_dirs, open_log, setting

SEVEN = BatchSpec(producer_id=ProducerId(7), producer_epoch=0, base_sequence=0)
IN_TXN = replace(SEVEN, transactional=True)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk, COMPACTED)


def heads(log: Log) -> list[BatchHead]:
    return [head for segment in log.segments for _, head in batches.heads(segment.log.get(), segment.size)]


def test_the_last_record_of_each_key_stays(log: Log) -> None:
    put(log, ("a", "1"), ("b", "1"))
    put(log, ("a", "2"))
    put(log, ("c", "1"), ("a", "3"))
    close_segment(log)
    outcome = compact(log)
    assert outcome is not None
    assert (outcome.clean_to, outcome.keys) == (5, 3)
    assert committed(log) == [(1, "b", "1"), (3, "c", "1"), (4, "a", "3")]
    assert [(head.base_offset, head.last_offset, head.count) for head in heads(log)] == [(0, 1, 1), (3, 4, 2)]


def test_the_active_segment_stays_and_its_keys_do_not_count(log: Log) -> None:
    put(log, ("a", "1"))
    close_segment(log)
    put(log, ("a", "2"))
    compact(log)
    assert committed(log) == [(0, "a", "1"), (1, "a", "2")]


def test_clean_records_go_when_a_dirty_one_has_their_key(log: Log) -> None:
    put(log, ("a", "1"), ("b", "1"))
    close_segment(log)
    compact(log)
    put(log, ("a", "2"))
    close_segment(log)
    compact(log)
    assert committed(log) == [(1, "b", "1"), (2, "a", "2")]
    assert log.cleaned_to == 3
    assert compact(log) is None


def test_records_without_a_key_go(log: Log) -> None:
    put(log, (None, "lost"), ("a", "1"))
    close_segment(log)
    compact(log)
    assert committed(log) == [(1, "a", "1")]


def test_the_last_batch_leaves_its_place(log: Log) -> None:
    """Else the end of the cleaned part would be forgotten."""
    put(log, ("a", "1"))
    put(log, (None, "lost"))
    close_segment(log)
    compact(log)
    assert [(head.base_offset, head.last_offset, head.count) for head in heads(log)] == [(0, 0, 1), (1, 1, 0)]


@pytest.mark.parametrize("codec", list(Codec))
def test_compression_stays(log: Log, codec: Codec) -> None:
    put(log, ("a", "1"), ("b", "1"), ("c", "1"), spec=BatchSpec(codec=codec))
    put(log, ("b", "2"))
    close_segment(log)
    compact(log)
    assert committed(log) == [(0, "a", "1"), (2, "c", "1"), (3, "b", "2")]
    assert heads(log)[0].codec is codec


def test_times_stay_and_the_largest_is_that_of_what_is_left(log: Log) -> None:
    put(log, ("a", "1"), at=NOW + 500)
    put(log, ("b", "1"), at=NOW - 500)
    put(log, ("a", "2"), at=NOW)
    close_segment(log)
    compact(log)
    assert [(record.offset, record.timestamp) for _, record in log.records(Offset(0))] == [(1, NOW - 500), (2, NOW)]
    assert log.segments[0].max_timestamp == NOW


def test_a_batch_of_which_all_records_stay_is_the_same_byte_for_byte(log: Log, disk: FaultyDisk) -> None:
    put(log, ("a", "1"), ("b", "1"))
    close_segment(log)
    before = disk.read_whole(log.segments[0].path(names.LOG))
    compact(log)
    assert disk.read_whole(log.segments[0].path(names.LOG)) == before


# --- tombstones


def test_a_tombstone_stays_until_its_time_is_over(log: Log) -> None:
    put(log, ("a", "1"), ("b", "1"))
    put(log, ("a", None), ("c", "1"))
    close_segment(log)
    compact(log)
    assert committed(log) == [(1, "b", "1"), (2, "a", None), (3, "c", "1")]
    assert heads(log)[1].delete_horizon_ms == NOW + 1000
    put(log, ("x", "1"))
    close_segment(log)
    compact(log, NOW + 999)
    assert (2, "a", None) in committed(log)
    assert heads(log)[1].delete_horizon_ms == NOW + 1000  # set once
    put(log, ("y", "1"))
    close_segment(log)
    compact(log, NOW + 1000)
    assert committed(log) == [(1, "b", "1"), (3, "c", "1"), (4, "x", "1"), (5, "y", "1")]


def test_a_tombstone_that_a_value_followed_goes_at_once(log: Log) -> None:
    put(log, ("a", None))
    put(log, ("a", "2"))
    close_segment(log)
    compact(log)
    assert committed(log) == [(1, "a", "2")]


# --- producers and transactions


def test_the_last_batch_of_a_producer_stays_empty(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk, given=setting(COMPACTED))
    log = log_of(dirs)
    put(log, ("a", "1"), spec=SEVEN)
    put(log, ("a", "2"), spec=replace(SEVEN, base_sequence=1))
    put(log, ("a", "3"))
    close_segment(log)
    compact(log)
    assert [(head.base_offset, head.count, head.base_sequence) for head in heads(log)] == [(1, 0, 1), (2, 1, -1)]
    dirs.close()
    for name in disk.tree("/data/orders-0"):
        if name.endswith(names.SNAPSHOT):
            disk.remove(f"/data/orders-0/{name}")
    again = open_log(disk, COMPACTED)
    put(again, ("a", "4"), spec=replace(SEVEN, base_sequence=2))  # its sequence is known from the log alone
    assert latest(again) == {"a": "4"}


def test_aborted_records_go_and_their_marker_after_its_time(log: Log) -> None:
    put(log, ("a", "1"))
    put(log, ("a", "aborted"), spec=IN_TXN)
    end_txn(log, 7, 0, commit=False)
    put(log, ("b", "1"))
    close_segment(log)
    compact(log)
    assert committed(log) == [(0, "a", "1"), (3, "b", "1")]
    assert [(head.base_offset, head.count, head.is_control) for head in heads(log)] == [
        (0, 1, False),
        (1, 0, False),  # the producer's last
        (2, 1, True),
        (3, 1, False),
    ]
    assert [txn.first_offset for txn in log.aborted_txns(Offset(0), log.end_offset)] == [1]


def test_a_marker_goes_when_nothing_is_left_that_it_decides(log: Log) -> None:
    put(log, ("a", "1"), spec=IN_TXN)
    end_txn(log, 7, 0, commit=True)
    put(log, ("a", "2"), spec=replace(IN_TXN, producer_epoch=1))
    end_txn(log, 7, 1, commit=True)
    put(log, ("z", "1"))
    close_segment(log)
    compact(log)
    assert [head.base_offset for head in heads(log)] == [1, 2, 3, 4]
    put(log, ("y", "1"))
    close_segment(log)
    compact(log)
    assert heads(log)[0].delete_horizon_ms == NOW + 1000  # the first marker has nothing left
    put(log, ("x", "1"))
    close_segment(log)
    compact(log, NOW + 1000)
    assert [head.base_offset for head in heads(log)] == [2, 3, 4, 5, 6]


def test_an_open_transaction_is_left_alone_with_all_that_follows(log: Log) -> None:
    put(log, ("a", "1"))
    close_segment(log)
    put(log, ("a", "2"), spec=IN_TXN)
    put(log, ("a", "3"))
    close_segment(log)
    compact(log)
    assert log.cleaned_to == 1
    assert [record.offset for _, record in log.records(Offset(0))] == [0, 1, 2]


def test_an_abort_whose_marker_lies_in_the_active_segment_counts(log: Log) -> None:
    put(log, ("a", "1"))
    put(log, ("a", "aborted"), spec=IN_TXN)
    close_segment(log)
    end_txn(log, 7, 0, commit=False)
    log.advance_high_watermark(log.end_offset)
    compact(log)
    assert latest(log) == {"a": "1"}


# --- rooms and files


def test_neighbours_become_one_segment_if_they_fit(log: Log) -> None:
    for number in range(6):
        put(log, ("same", str(number)))
        close_segment(log)
    assert len(log.segments) == 7
    compact(log)
    assert [segment.base_offset for segment in log.segments] == [0, 6]
    assert latest(log) == {"same": "5"}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_log_with_more_keys_than_there_is_room_for_is_cleaned_at_once(
    log: Log, disk: FaultyDisk, codec: Codec
) -> None:
    small = CleanerSetting(dedupe_buffer_size=1000, io_buffer_load_factor=0.5)
    for number in range(30):
        put(log, (f"key {number % 15}", str(number)), (f"other {number}", "1"), spec=BatchSpec(codec=codec))
    close_segment(log)
    outcome = compact(log, setting=small)
    assert outcome is not None
    assert (outcome.clean_to, outcome.keys) == (60, 45)
    for number in range(30, 40):
        put(log, (f"key {number % 15}", str(number)), (f"other {number}", "1"), spec=BatchSpec(codec=codec))
    close_segment(log)
    outcome = compact(log, setting=small)  # the clean part does not fit either
    assert outcome is not None
    assert (outcome.clean_to, outcome.keys) == (80, 55)
    assert latest(log) == {
        **{f"key {number % 15}": str(number) for number in range(40)},
        **{f"other {number}": "1" for number in range(40)},
    }
    assert len(committed(log)) == 55
    assert not [name for name in disk.tree(log.directory) if names.CLEANED in name]


def test_a_log_is_the_same_after_it_was_closed_and_opened(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk, given=setting(COMPACTED))
    log = log_of(dirs)
    for number in range(40):
        put(log, (f"key {number % 7}", str(number)))
    close_segment(log)
    compact(log)
    expected = committed(log)
    dirs.close()
    again = open_dirs(disk, given=setting(COMPACTED))
    assert not again.events
    assert committed(log_of(again)) == expected
    assert log_of(again).cleaned_to == 40
    assert compact(log_of(again)) is None


def test_a_reader_in_the_middle_of_an_old_segment_goes_on(log: Log) -> None:
    for number in range(5):
        put(log, ("same", str(number)))
    close_segment(log)
    part = log.read(Offset(1), 1 << 20)
    assert part is not None
    part.handle.hold()
    before = part.read()
    compact(log)
    assert part.read() == before
    part.handle.let_go()
    assert committed(log, 1) == [(4, "same", "4")]


def test_damage_is_told_and_nothing_is_changed(log: Log, disk: FaultyDisk) -> None:
    put(log, ("a", "1"))
    put(log, ("a", "2"))
    close_segment(log)
    path = log.segments[0].path(names.LOG)
    content = bytearray(disk.read_whole(path))
    content[-1] ^= 1
    disk.put(path, bytes(content))
    with pytest.raises(CorruptBatch):
        compact(log)
    assert disk.read_whole(path) == content


def test_jobs_and_outcomes_go_through_json(log: Log) -> None:
    put(log, ("a", "1"), spec=IN_TXN)
    end_txn(log, 7, 0, commit=False)
    log.advance_high_watermark(log.end_offset)
    close_segment(log)
    chosen = plan_all(log)
    assert chosen is not None
    assert Job.from_json(chosen.job.to_json()) == chosen.job
    outcome = compact(log)
    assert outcome is not None
    assert Outcome.from_json(outcome.to_json()) == outcome


@pytest.mark.parametrize("policy", [("compact",), ("compact", "delete")])
def test_retention_takes_segments_of_a_compacted_log_only_if_told_to(
    disk: FaultyDisk, policy: tuple[CleanupPolicy, ...]
) -> None:
    log = open_log(disk, replace(COMPACTED, cleanup_policy=policy, retention_ms=1000))
    put(log, ("a", "1"))
    close_segment(log)
    compact(log)
    put(log, ("b", "1"), at=NOW + 5000)
    log.apply_retention(NOW + 5000)  # type: ignore[arg-type]
    assert latest(log) == ({"a": "1", "b": "1"} if policy == ("compact",) else {"b": "1"})
