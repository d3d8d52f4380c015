"""What was synced, or stopped properly, survives power loss: data, cuts, names and the small files beside them."""

from random import Random

import pytest

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.records.builder import BatchSpec
from odradek.storage.log import Log
from support.disk import Died, FaultyDisk, disks_after_death
from support.logs import TOPIC_ID, append, log_of, offsets_and_values, open_dirs, values

SEEDS = range(30)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


def logs_after_power_loss(disk: FaultyDisk) -> list[Log]:
    """The log as it is opened after power loss took all, or some, of what was not synced."""
    logs = []
    for seed in (None, *SEEDS):
        tried = disk.copy()
        tried.power_loss(None if seed is None else Random(seed))
        logs.append(log_of(open_dirs(tried)))
    return logs


def test_what_was_synced_is_there_and_what_follows_is_a_part_of_the_rest(disk: FaultyDisk) -> None:
    log = log_of(open_dirs(disk))
    for number in range(30):
        append(log, f"kept {number}")
    log.sync()
    for number in range(30):
        append(log, f"lost {number}")
    everything = values(log)
    found = [values(log) for log in logs_after_power_loss(disk)]
    assert found[0] == everything[:30]
    assert all(everything[: len(each)] == each and len(each) >= 30 for each in found)
    assert len({len(each) for each in found}) > 5


def test_a_clean_stop_needs_no_luck(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(30):
        append(log, f"{number}")
    dirs.close()
    for log in logs_after_power_loss(disk):
        assert values(log) == [str(number) for number in range(30)]
        assert log.topic_id == TOPIC_ID


def test_a_partition_found_after_a_kill_is_safe_after_a_clean_stop(disk: FaultyDisk) -> None:
    append(log_of(open_dirs(disk)), "a")
    disk.crash()
    dirs = open_dirs(disk)
    assert values(log_of(dirs)) == ["a"]
    dirs.close()
    for log in logs_after_power_loss(disk):
        assert values(log) == ["a"]
        assert log.topic_id == TOPIC_ID


def test_a_tail_that_recovery_cut_stays_cut(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    append(log_of(dirs), "a")
    log_of(dirs).sync()
    dirs.write_checkpoints()
    disk.die_at(1)
    with pytest.raises(Died):
        append(log_of(dirs), "torn")
    disk.crash()
    open_dirs(disk).close()
    for log in logs_after_power_loss(disk):
        assert values(log) == ["a"]


def test_a_truncation_survives_a_clean_stop(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    append(log_of(dirs), "a")
    append(log_of(dirs), "b")
    log_of(dirs).sync()
    log_of(dirs).truncate_to(Offset(1))
    dirs.close()
    for log in logs_after_power_loss(disk):
        assert values(log) == ["a"]


def test_segments_that_were_truncated_do_not_come_back_behind_new_ones(disk: FaultyDisk) -> None:
    log = log_of(open_dirs(disk))
    for number in range(5):
        append(log, f"old {number}")
        log.roll()
    log.sync()
    log.truncate_to(Offset(2))
    append(log, "new")
    log.sync()
    for log in logs_after_power_loss(disk):
        assert values(log) == ["old 0", "old 1", "new"]


def test_leader_epochs_are_those_of_the_records(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(6):
        append(log, str(number), epoch=number // 2)
        log.roll()
    log.sync()
    dirs.write_checkpoints()
    for log in logs_after_power_loss(disk):
        assert [log.epochs.epoch_of(Offset(offset)) for offset in range(6)] == [0, 0, 1, 1, 2, 2]


def test_producer_snapshots_of_a_truncated_end_do_not_come_back(disk: FaultyDisk) -> None:
    """The next end of the log may be where the snapshot stood, but with other batches before it."""
    dirs = open_dirs(disk)
    append(log_of(dirs), "a")
    append(log_of(dirs), "b", spec=BatchSpec(producer_id=ProducerId(1), producer_epoch=0, base_sequence=0))
    dirs.close()
    log = log_of(open_dirs(disk))
    log.truncate_to(Offset(1))
    append(log, "c", spec=BatchSpec(producer_id=ProducerId(2), producer_epoch=0, base_sequence=0))
    for seed in SEEDS:
        tried = disk.copy()
        tried.power_loss(Random(seed))
        open_dirs(tried).close()  # mends what it finds
        log = log_of(open_dirs(tried))
        ids = [producer.id for producer in log.producers]
        assert (values(log), ids) in ((["a"], []), (["a", "b"], [1]), (["a", "c"], [2]))


def test_a_sync_does_not_count_for_what_was_written_after_a_cut_in_the_middle_of_it(disk: FaultyDisk) -> None:
    log = log_of(open_dirs(disk))
    append(log, "a")
    append(log, "b")
    job = log.begin_sync()
    log.run_sync(job)
    log.truncate_to(Offset(1))
    append(log, "c")
    log.end_sync(job)
    assert log.recovery_point <= 1
    log.sync()
    assert log.recovery_point == 2
    for log in logs_after_power_loss(disk):
        assert values(log) == ["a", "c"]


def test_a_recovery_point_from_before_a_cut_is_not_believed(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(5):
        append(log, f"old {number}")
        log.roll()
    log.sync()
    dirs.write_checkpoints()
    log.truncate_to(Offset(2))
    for number in range(5):
        append(log, f"new {number}")
        log.roll()
    expected = values(log)
    for log in logs_after_power_loss(disk):
        found = values(log)
        assert found == expected[: len(found)]
        assert len(found) >= 2


def test_a_recovery_point_from_before_a_cut_does_not_spare_the_sync_at_the_stop(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(5):
        append(log, f"old {number}")
    log.sync()
    dirs.write_checkpoints()
    log.truncate_to(Offset(2))
    append(log, "new")
    disk.crash()
    open_dirs(disk).close()
    for log in logs_after_power_loss(disk):
        assert values(log) == ["old 0", "old 1", "new"]


def test_a_log_start_from_before_a_cut_is_forgotten(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(5):
        append(log, f"old {number}")
    log.advance_high_watermark(Offset(5))
    log.advance_start(Offset(4))
    dirs.write_checkpoints()
    log.truncate_to(Offset(1))
    append(log, "new")
    disk.crash()
    assert offsets_and_values(log_of(open_dirs(disk))) == [(1, "new")]


def test_checkpoints_of_a_deleted_partition_do_not_count_for_a_new_one_of_its_name(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(5):
        append(log, f"old {number}")
    log.sync()
    log.advance_high_watermark(Offset(5))
    log.advance_start(Offset(4))
    dirs.write_checkpoints()
    dirs.delete(log.partition)
    log = log_of(dirs)
    append(log, "new")
    disk.crash()
    dirs = open_dirs(disk)
    assert offsets_and_values(log_of(dirs)) == [(0, "new")]
    assert log_of(dirs).recovery_point == 0


def test_the_first_leader_epoch_of_a_log_is_kept_with_its_first_records(disk: FaultyDisk) -> None:
    log = log_of(open_dirs(disk))
    append(log, "a", epoch=7)
    log.sync()
    for log in logs_after_power_loss(disk):
        assert log.epochs.latest == LeaderEpoch(7)


def test_the_index_of_a_segment_closed_after_a_restart_is_synced_with_the_next_records(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk)
    append(log_of(dirs), "a")
    dirs.close()
    log = log_of(open_dirs(disk))
    log.roll()
    append(log, "b")
    log.sync()
    name = "00000000000000000000.timeindex"
    before = disk.tree("/data/orders-0")[name]
    disk.power_loss()
    assert disk.tree("/data/orders-0")[name] == before != b""


def test_leader_epochs_of_before_a_cut_do_not_count_for_what_came_after_it(disk: FaultyDisk) -> None:
    log = log_of(open_dirs(disk))
    for epoch in range(5):
        append(log, str(epoch), epoch=epoch)
    log.sync()
    log.truncate_to(Offset(1))
    append(log, "new", epoch=4)
    for log in logs_after_power_loss(disk):
        assert [log.epochs.epoch_of(record.offset) for _, record in log.records(Offset(0))] == [
            head.leader_epoch for head, _ in log.records(Offset(0))
        ]


def test_a_recovery_point_above_the_end_is_lowered_before_anything_is_written(disk: FaultyDisk) -> None:
    """A process that died in a cut left one. What is written up to there from then on is not synced by that."""
    dirs = open_dirs(disk)
    append(log_of(dirs), "a")
    append(log_of(dirs), "b")
    log_of(dirs).sync()
    dirs.write_checkpoints()
    disk.crash()
    for left in disks_after_death(disk, lambda tried: log_of(open_dirs(tried)).truncate_to(Offset(0))):
        log = log_of(open_dirs(left))
        end = log.end_offset
        append(log, "c")
        append(log, "d")
        left.crash()
        assert log_of(open_dirs(left)).recovery_point <= end
