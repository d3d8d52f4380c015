"""The log directories of a node: opening, placing, moving, deleting, closing."""

from dataclasses import replace
from random import Random

import pytest

from odradek.model.errors import DirectoryInUse, InvalidConfig, StorageFailed
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import replace_file
from odradek.storage import meta_properties
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from odradek.storage.meta_properties import MetaProperties
from odradek.storage.open_files import OpenFiles
from support.clock import ManualClock
from support.disk import FaultyDisk, Op, disks_after_death
from support.logs import (
    ORDERS,
    SMALL,
    TOPIC_ID,
    append,
    log_of,
    offsets_and_values,
    open_dirs,
    setting,
    values,
)

PAYMENTS = TopicPartition("payments", 0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def disk(clock: ManualClock) -> FaultyDisk:
    return FaultyDisk("/a", "/b", "/c", clock=clock)


def open_all(disk: FaultyDisk) -> LogDirs:
    return open_dirs(disk, "/a", "/b", "/c", given=setting(clock=disk.clock))


def names_in(disk: FaultyDisk, path: str) -> list[str]:
    return sorted(entry.name for entry in disk.list(path) if entry.is_dir)


# --- opening and closing


def test_a_node_finds_its_logs_again(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    assert list(dirs) == []
    append(log_of(dirs), "a")
    append(log_of(dirs, PAYMENTS), "b")
    dirs.close(broker_epoch=7)
    assert disk.open_handles == 0
    dirs = open_all(disk)
    assert dirs.events == []
    assert {str(log.partition): values(log) for log in dirs} == {"orders-0": ["a"], "payments-0": ["b"]}
    assert {log.topic_id for log in dirs} == {TOPIC_ID}
    assert [log_dir.broker_epoch for log_dir in dirs.dirs] == [7, 7, 7]
    assert dirs.get(TopicPartition("none", 0)) is None


def test_after_a_clean_stop_no_batch_is_read(disk: FaultyDisk) -> None:
    given = setting(replace(SMALL, segment_bytes=200_000, index_interval_bytes=4096), disk.clock)
    dirs = open_dirs(disk, "/a", given=given)
    for number in range(1000):
        append(log_of(dirs), f"{number}" + "x" * 1000)
    dirs.close()
    disk.counts.clear()
    disk.bytes_read = 0
    log = log_of(open_dirs(disk, "/a", given=given))
    assert len(log.segments) == 6
    assert disk.bytes_read < log.size // 5
    assert disk.counts[Op.WRITE] == 0
    assert log.recovery_point == log.end_offset == 1000


def test_the_marker_of_a_clean_stop_counts_once(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    dirs.close()
    assert disk.exists("/a/.kafka_cleanshutdown")
    open_all(disk)
    assert not disk.exists("/a/.kafka_cleanshutdown")
    disk.power_loss()
    assert not disk.exists("/a/.kafka_cleanshutdown")
    assert [log_dir.was_clean for log_dir in open_all(disk).dirs] == [False] * 3


def test_offsets_are_kept_in_checkpoints(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a", "b", "c", "d")
    log.advance_high_watermark(Offset(3))
    log.advance_start(Offset(2))
    append(log_of(dirs, PAYMENTS), "x")
    dirs.close()
    assert disk.read_whole("/a/recovery-point-offset-checkpoint") == b"0\n1\norders 0 4\n"
    assert disk.read_whole("/a/replication-offset-checkpoint") == b"0\n1\norders 0 3\n"
    assert disk.read_whole("/a/log-start-offset-checkpoint") == b"0\n1\norders 0 2\n"
    assert disk.read_whole("/b/log-start-offset-checkpoint") == b"0\n0\n"  # it starts with its first segment
    log = log_of(open_all(disk))
    assert (log.start_offset, log.end_offset, values(log)) == (2, 4, ["c", "d"])
    assert log.high_watermark == 3


@pytest.mark.parametrize(("stored", "found"), [(1, 2), (3, 3), (9, 4)])
def test_a_high_watermark_begins_with_its_checkpoint_within_the_log(disk: FaultyDisk, stored: int, found: int) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a", "b", "c", "d")
    log.advance_high_watermark(Offset(4))
    log.advance_start(Offset(2))
    dirs.close()
    replace_file(disk, "/a/replication-offset-checkpoint", f"0\n1\norders 0 {stored}\n".encode())
    assert log_of(open_all(disk)).high_watermark == found


def test_without_a_checkpoint_a_high_watermark_begins_at_the_start_of_the_log(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a", "b")
    dirs.close()
    disk.remove("/a/replication-offset-checkpoint")
    assert log_of(open_all(disk)).high_watermark == 0


def test_a_log_start_is_kept_through_a_kill_once_it_was_checkpointed(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a", "b", "c")
    log.advance_high_watermark(Offset(3))
    log.advance_start(Offset(2))
    dirs.write_checkpoints()
    disk.crash()
    assert values(log_of(open_all(disk))) == ["c"]


def test_checkpoints_that_did_not_change_are_not_written(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    dirs.write_checkpoints()
    disk.counts.clear()
    dirs.write_checkpoints()
    assert disk.counts[Op.WRITE] == 0
    append(log_of(dirs), "b")
    dirs.write_checkpoints()
    assert disk.counts[Op.RENAME] == 0  # neither synced nor replicated yet
    log_of(dirs).sync()
    disk.counts.clear()
    dirs.write_checkpoints()
    assert disk.counts[Op.RENAME] == 1


def test_many_logs_are_synced_at_once_when_a_node_stops(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk, "/a", given=setting(clock=disk.clock))
    for number in range(100):
        append(log_of(dirs, TopicPartition("many", number)), str(number))
    disk.counts.clear()
    dirs.close()
    assert disk.counts[Op.SYNC_ALL] == 1
    assert disk.counts[Op.SYNC] < 10
    assert disk.open_handles == 0
    disk.power_loss()
    found = {log.partition.partition: values(log) for log in open_dirs(disk, "/a")}
    assert found == {number: [str(number)] for number in range(100)}


@pytest.mark.slow
def test_a_thousand_partitions_live_under_sixteen_handles() -> None:
    disk = FaultyDisk("/a")
    dirs = LogDirs.open(OpenFiles(disk, 16), ["/a"], setting())
    logs = [log_of(dirs, TopicPartition("many", number)) for number in range(1000)]
    for round in range(2):
        for log in logs:
            append(log, f"{log.partition.partition}:{round}")
            assert disk.open_handles <= 17
    dirs.close()
    assert disk.open_handles == 0
    dirs = LogDirs.open(OpenFiles(disk, 16), ["/a"], setting())
    assert all(values(log) == [f"{log.partition.partition}:{round}" for round in (0, 1)] for log in dirs)


def test_a_node_that_never_loaded_its_logs_leaves_them_as_they_were(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a", "b", "c")
    log.advance_high_watermark(Offset(3))
    log.advance_start(Offset(2))
    dirs.write_checkpoints()
    disk.crash()
    before = disk.tree("/a")
    dirs = LogDirs.take(OpenFiles(disk), ["/a"], setting(clock=disk.clock))
    dirs.write_checkpoints()
    dirs.close()
    assert disk.tree("/a") == before  # and no word of a clean stop
    assert values(log_of(open_all(disk))) == ["c"]


# --- whose directories


def test_a_directory_in_use_is_named(disk: FaultyDisk) -> None:
    open_dirs(disk, "/b")
    with pytest.raises(DirectoryInUse, match=r"^/b/\.lock is held by another process"):
        open_dirs(disk, "/a", "/b", "/c")
    open_dirs(disk, "/a", "/c")  # their locks were let go


def test_a_directory_named_twice_is_refused(disk: FaultyDisk) -> None:
    with pytest.raises(DirectoryInUse, match=r"/a/\.lock"):
        open_dirs(disk, "/a", "/a")


def test_a_stop_lets_go_of_the_locks(disk: FaultyDisk) -> None:
    open_all(disk).close()
    open_all(disk).abandon()
    open_all(disk)


def test_directories_of_different_owners_are_refused_by_name(disk: FaultyDisk) -> None:
    meta_properties.write(disk, "/a", MetaProperties("cluster-1", 1, "x"))
    meta_properties.write(disk, "/b", MetaProperties("cluster-1", 1, "y"))
    open_dirs(disk, "/a", "/b", "/c").close()  # one that was never formatted may be among them
    meta_properties.write(disk, "/c", MetaProperties("cluster-2", 1, "z"))
    said = "/b is of node 1 in cluster-1, /c is of node 1 in cluster-2"
    with pytest.raises(InvalidConfig, match=said):
        open_dirs(disk, "/a", "/b", "/c")
    meta_properties.write(disk, "/c", MetaProperties("cluster-1", 2, "z"))
    with pytest.raises(InvalidConfig, match="/c is of node 2 in cluster-1"):
        open_dirs(disk, "/a", "/b", "/c")
    open_dirs(disk, "/a", "/b")  # and the locks were let go


def test_other_directories_are_left_alone(disk: FaultyDisk) -> None:
    for name in ("lost+found", "__cluster_metadata-0", "orders-x"):
        disk.make_dir(f"/a/{name}")
        disk.put(f"/a/{name}/file", b"precious")
    disk.put("/a/notes", b"precious")
    disk.put("/a/recovery-point-offset-checkpoint.tmp", b"half a checkpo")
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    dirs.close()
    tree = disk.tree("/a")
    assert [tree[f"{name}/file"] for name in ("lost+found", "__cluster_metadata-0", "orders-x")] == [b"precious"] * 3
    assert tree["notes"] == b"precious"
    assert "recovery-point-offset-checkpoint.tmp" not in tree
    said = [event.fields["reason"] for event in dirs.events]
    assert said == [
        "directory 'lost+found' is not named <topic>-<partition>",
        "directory 'orders-x' is not named <topic>-<partition>",
    ]


# --- placing


def test_a_new_partition_goes_where_the_fewest_are(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    for number in range(7):
        dirs.create(TopicPartition("orders", number), TOPIC_ID)
    assert [len(log_dir.logs) for log_dir in dirs.dirs] == [3, 2, 2]
    dirs.create(TopicPartition("here", 0), TOPIC_ID, path="/c")
    assert "here-0" in names_in(disk, "/c")
    with pytest.raises(StorageFailed, match="no log directory is in service at /d"):
        dirs.create(TopicPartition("there", 0), TOPIC_ID, path="/d")


def test_a_cordoned_directory_gets_no_new_partition_while_there_are_others(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    dirs.cordoned = frozenset({"/a", "/c"})
    for number in range(3):
        dirs.create(TopicPartition("orders", number), TOPIC_ID)
    assert [len(log_dir.logs) for log_dir in dirs.dirs] == [0, 3, 0]
    dirs.create(TopicPartition("named", 0), TOPIC_ID, path="/c")
    dirs.cordoned = frozenset({"/a", "/b", "/c"})
    dirs.create(TopicPartition("somewhere", 0), TOPIC_ID)
    assert [len(log_dir.logs) for log_dir in dirs.dirs] == [1, 3, 1]


def test_a_partition_is_not_made_twice(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    for path in (None, "/a", "/b"):
        with pytest.raises(ValueError, match="orders-0"):
            dirs.create(ORDERS, TOPIC_ID, path=path)
    assert all(log_dir.online for log_dir in dirs.dirs)
    assert values(log_of(dirs)) == ["a"]


def test_a_config_that_changed_is_that_of_the_log(disk: FaultyDisk) -> None:
    configs = {"orders": SMALL, "payments": SMALL}
    dirs = open_dirs(disk, "/a", "/b", given=setting(lambda topic: configs[topic]))
    orders, payments = log_of(dirs), log_of(dirs, PAYMENTS)
    future = dirs.create_future(ORDERS, TOPIC_ID, "/b")
    configs["orders"] = replace(SMALL, segment_bytes=5000)
    dirs.update_config("orders", range(9))
    assert [log.config.segment_bytes for log in (orders, future, payments)] == [5000, 5000, 1000]


# --- deleting


def test_a_deleted_partition_is_gone_at_once_and_its_files_in_time(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    dirs.delete(ORDERS)
    assert dirs.get(ORDERS) is None
    assert names_in(disk, "/a") == [f"orders-0.{1:032x}-delete"]
    assert disk.open_handles == 0
    clock.advance(SMALL.file_delete_delay_ms - 1)
    dirs.remove_due(clock.now_ms())
    assert len(names_in(disk, "/a")) == 1
    clock.advance(1)
    dirs.remove_due(clock.now_ms())
    assert names_in(disk, "/a") == []


def test_a_partition_of_the_same_name_begins_anew(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "old")
    dirs.delete(ORDERS)
    log = log_of(dirs)
    append(log, "new")
    clock.advance(SMALL.file_delete_delay_ms)
    dirs.remove_due(clock.now_ms())
    assert offsets_and_values(log) == [(0, "new")]
    dirs.close()
    assert offsets_and_values(log_of(open_all(disk))) == [(0, "new")]


def test_what_was_to_be_deleted_is_deleted_after_a_restart(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    dirs.delete(ORDERS)
    disk.crash()
    dirs = open_all(disk)
    assert list(dirs) == []
    clock.advance(SMALL.file_delete_delay_ms)
    dirs.remove_due(clock.now_ms())
    assert names_in(disk, "/a") == []


def test_a_partition_is_deleted_while_it_is_synced(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a")
    job = log.begin_sync()
    dirs.delete(ORDERS)
    clock.advance(SMALL.file_delete_delay_ms)
    dirs.remove_due(clock.now_ms())
    try:
        log.run_sync(job)
    except OSError as error:
        log.end_sync(job, error)
    else:
        log.end_sync(job)
    assert dirs.dirs[0].online
    assert disk.open_handles == 0


def test_a_log_that_is_gone_is_of_no_use_and_does_no_harm(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a")
    log.roll()
    log.advance_high_watermark(Offset(1))
    dirs.delete(ORDERS)
    for attempt in (
        lambda: append(log, "b"),
        lambda: log.read(Offset(0), 100),
        lambda: log.truncate_to(Offset(0)),
        lambda: log.sync(),
        lambda: log.close(),
    ):
        with pytest.raises(StorageFailed, match="orders-0 is not in /a any more"):
            attempt()
    assert dirs.dirs[0].online
    assert disk.open_handles == 0


def test_segments_that_wait_for_removal_may_go_with_their_partition(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    log = log_of(dirs)
    append(log, "a")
    log.roll()
    log.advance_high_watermark(Offset(1))
    log.advance_start(Offset(1))
    log.apply_retention(clock.now_ms())
    dirs.delete(ORDERS)
    clock.advance(SMALL.file_delete_delay_ms)
    dirs.remove_due(clock.now_ms())
    assert dirs.dirs[0].online
    assert names_in(disk, "/a") == []


def test_a_crash_in_a_deletion_leaves_a_partition_or_none(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    for number in range(20):
        append(log_of(dirs), str(number))
    dirs.close()

    def delete(tried: FaultyDisk) -> None:
        dirs = open_all(tried)
        dirs.delete(ORDERS)
        dirs.remove_due(tried.clock.now_ms() + 10 * SMALL.file_delete_delay_ms)  # type: ignore[arg-type]

    found = [
        {str(log.partition): len(values(log)) for log in open_all(left)} for left in disks_after_death(disk, delete)
    ]
    assert {"orders-0": 20} in found
    assert {} in found
    assert all(each in ({"orders-0": 20}, {}) for each in found)


def test_a_crash_in_a_creation_leaves_an_empty_partition_or_none(disk: FaultyDisk) -> None:
    for left in disks_after_death(disk, lambda tried: append(log_of(open_all(tried)), "a")):
        dirs = open_all(left)
        assert all(log_dir.online for log_dir in dirs.dirs)
        assert [values(log) for log in dirs] in ([], [[]], [["a"]])
        assert values(log_of(dirs)) in ([], ["a"])
        append(log_of(dirs), "b")


# --- strays


def test_a_stray_is_kept_under_another_name(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    path = dirs.set_aside(ORDERS)
    assert path == f"/a/orders-0.{1:032x}-stray"
    assert dirs.get(ORDERS) is None
    assert disk.open_handles == 0
    dirs.close()
    dirs = open_all(disk)
    assert list(dirs) == []
    dirs.close()
    disk.rename(path, "/a/orders-0")
    assert values(log_of(open_all(disk))) == ["a"]


# --- moving to another directory


def start_move(dirs: LogDirs) -> None:
    log = log_of(dirs)
    future = dirs.create_future(ORDERS, TOPIC_ID, "/b")
    for segment in log.segments:
        data = log.read(segment.base_offset, 1 << 20)
        if data is not None:
            future.replicate(memoryview(data.read()))


def promote(dirs: LogDirs) -> Log:
    """As where the metadata does not name directories."""
    log, old = dirs.exchange_future(ORDERS)
    dirs.give_final_name(log)
    log.log_dir.sync_names()
    dirs.discard(old)
    return log


def test_a_future_log_takes_the_place_of_the_partition(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    for number in range(30):
        append(log_of(dirs), str(number))
    start_move(dirs)
    assert log_of(dirs).directory == "/a/orders-0"
    assert names_in(disk, "/b") == [f"orders-0.{1:032x}-future"]
    log = promote(dirs)
    assert log is log_of(dirs)
    assert log.directory == "/b/orders-0"
    append(log, "30")
    assert values(log) == [str(number) for number in range(31)]
    assert names_in(disk, "/a") == [f"orders-0.{2:032x}-delete"]
    clock.advance(SMALL.file_delete_delay_ms)
    dirs.remove_due(clock.now_ms())
    dirs.close()
    log = log_of(open_all(disk))
    assert (log.directory, log.topic_id, len(values(log))) == ("/b/orders-0", TOPIC_ID, 31)


def test_a_future_log_is_found_again(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    start_move(dirs)
    for stop in (dirs.close, disk.crash):
        stop()
        dirs = open_all(disk)
        assert values(log_of(dirs)) == ["a"]
        assert values(dirs.dirs[1].future_logs[ORDERS]) == ["a"]
    promote(dirs)
    assert values(log_of(dirs)) == ["a"]


@pytest.mark.parametrize("power_loss", [False, True])
def test_a_crash_in_a_promotion_loses_nothing(disk: FaultyDisk, power_loss: bool) -> None:
    dirs = open_all(disk)
    for number in range(30):
        append(log_of(dirs), str(number))
    start_move(dirs)
    dirs.close()

    def promote_and_append(tried: FaultyDisk) -> None:
        append(promote(open_all(tried)), "30")

    places = set()
    for left in disks_after_death(disk, promote_and_append):
        for seed in range(20) if power_loss else (None,):
            tried = left.copy()
            if seed is not None:
                tried.power_loss(Random(seed))
            dirs = open_all(tried)
            log = dirs.get(ORDERS)
            assert log is not None
            assert values(log)[:30] == [str(number) for number in range(30)]
            assert len([each for each in dirs if each.partition == ORDERS]) == 1
            places.add(log.directory)
    assert places == {"/a/orders-0", "/b/orders-0"}


# --- directories that fail


def test_a_full_directory_leaves_the_others_working(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    orders, payments = log_of(dirs), log_of(dirs, PAYMENTS)
    disk.set_capacity(3000, under="/a")
    acknowledged: list[int] = []
    with pytest.raises(StorageFailed, match=r"log directory /a failed: .*No space left on device"):
        append_until_it_fails(orders, acknowledged)
    append(payments, "b")
    with pytest.raises(StorageFailed, match="log directory /a is offline"):
        append(orders, "c")
    assert [log_dir.online for log_dir in dirs.dirs] == [False, True, True]
    dirs.create(TopicPartition("new", 0), TOPIC_ID)
    assert "new-0" in names_in(disk, "/c")
    with pytest.raises(StorageFailed, match="no log directory is in service at /a"):
        dirs.create(TopicPartition("new", 1), TOPIC_ID, path="/a")
    dirs.close()
    assert [disk.exists(f"{path}/.kafka_cleanshutdown") for path in ("/a", "/b", "/c")] == [False, True, True]
    assert disk.open_handles == 0
    disk.set_capacity(None, under="/a")
    dirs = open_all(disk)
    assert [offset for offset, _ in offsets_and_values(log_of(dirs))] == acknowledged
    assert values(log_of(dirs, PAYMENTS)) == ["b"]
    append(log_of(dirs), "more")
    dirs.close()
    assert open_all(disk).events == []


def append_until_it_fails(log: Log, acknowledged: list[int]) -> None:
    for number in range(1000):
        answer = append(log, str(number))
        acknowledged.append(answer.base_offset)


def test_a_directory_that_fails_at_the_stop_leaves_the_others_cleanly_stopped(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    for number in range(3):
        append(log_of(dirs, TopicPartition("orders", number)), str(number))
    disk.fail_next(Op.SYNC, on="/a/")
    dirs.close()
    assert disk.open_handles == 0
    assert [disk.exists(f"{path}/.kafka_cleanshutdown") for path in ("/a", "/b", "/c")] == [False, True, True]
    dirs = open_all(disk)
    assert [values(log) for log in dirs] == [["0"], ["1"], ["2"]]


def test_a_checkpoint_that_cannot_be_written_takes_its_directory_out_of_service(disk: FaultyDisk) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    append(log_of(dirs, PAYMENTS), "b")
    disk.fail_next(Op.RENAME, on="/a/")
    dirs.write_checkpoints()
    with pytest.raises(StorageFailed, match="/a"):
        append(log_of(dirs), "c")
    append(log_of(dirs, PAYMENTS), "c")


@pytest.mark.parametrize("op", [Op.LIST, Op.LOCK, Op.OPEN])
def test_a_directory_that_cannot_be_read_is_said_and_the_others_open(disk: FaultyDisk, op: Op) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    append(log_of(dirs, PAYMENTS), "b")
    dirs.close()
    disk.fail_next(op, 13, on="/a")  # EACCES
    dirs = open_all(disk)
    assert any(
        event.fields.get("path") == "/a" and "Permission denied" in str(event.fields["reason"]) for event in dirs.events
    )
    assert values(log_of(dirs, PAYMENTS)) == ["b"]
    dirs.close()
    dirs = open_all(disk)
    assert values(log_of(dirs)) == ["a"]


def test_a_missing_directory_is_said_and_the_others_open(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk, "/none", "/a")
    assert [(event.text, event.fields["path"]) for event in dirs.events] == [
        ("a log directory cannot be used", "/none")
    ]
    append(log_of(dirs), "a")


def test_without_any_directory_a_node_does_not_open(disk: FaultyDisk) -> None:
    with pytest.raises(StorageFailed, match=r"no log directory can be used: .*No such file or directory.*/none"):
        open_dirs(disk, "/none")


def test_a_removal_that_fails_takes_the_directory_out_of_service(disk: FaultyDisk, clock: ManualClock) -> None:
    dirs = open_all(disk)
    append(log_of(dirs), "a")
    dirs.delete(ORDERS)
    clock.advance(SMALL.file_delete_delay_ms)
    disk.fail_next(Op.REMOVE, on="/a/")
    dirs.remove_due(clock.now_ms())
    assert [log_dir.online for log_dir in dirs.dirs] == [False, True, True]


@pytest.mark.parametrize("op", [Op.MAKE_DIR, Op.CREATE, Op.WRITE, Op.RENAME])
def test_a_creation_that_fails_leaves_no_handle(disk: FaultyDisk, op: Op) -> None:
    dirs = open_all(disk)
    disk.fail_next(op, on="orders-0")
    with pytest.raises(StorageFailed):
        log_of(dirs)
    dirs.abandon()
    assert disk.open_handles == 0
    dirs = open_all(disk)
    append(log_of(dirs), "a")


@pytest.mark.parametrize("checkpoint", ["recovery-point", "log-start", "replication"])
def test_corrupt_checkpoints_are_said_and_cost_no_records(disk: FaultyDisk, checkpoint: str) -> None:
    dirs = open_all(disk)
    for number in range(30):
        append(log_of(dirs), str(number))
    dirs.close()
    disk.put(f"/a/{checkpoint}-offset-checkpoint", b"0\n1\norders 0 many\n")
    dirs = open_all(disk)
    assert [event.text for event in dirs.events][:1] == ["ignoring a corrupt checkpoint"]
    assert f"/a/{checkpoint}-offset-checkpoint, line 3" in str(dirs.events[0].fields["reason"])
    assert values(log_of(dirs)) == [str(number) for number in range(30)]
