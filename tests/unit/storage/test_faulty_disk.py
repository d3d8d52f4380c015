"""The disk that breaks: it must break in the ways that it promises, or tests that rely on it prove nothing."""

import errno
from random import Random
from typing import TYPE_CHECKING

import pytest

from odradek.model.errors import DirectoryInUse
from odradek.process.files import replace_file, write_file
from support.disk import Died, Fault, FaultyDisk, Op, disks_after_death

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(200)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


def write_unsynced(disk: FaultyDisk) -> None:
    """`/data/a` is safe as "safe"; two more writes are not."""
    write_file(disk, "/data/a", b"safe", sync=True)
    disk.sync_dir("/data")
    file = disk.open("/data/a")
    file.write(b"1111", 4)
    file.write(b"2222", 8)


def contents_after_power_loss(disk: FaultyDisk, path: str = "a") -> set[bytes | None]:
    found = set()
    for seed in SEEDS:
        tried = disk.copy()
        tried.power_loss(Random(seed))
        found.add(tried.tree("/data").get(path))
    return found


def test_a_killed_process_leaves_all_that_it_wrote(disk: FaultyDisk) -> None:
    write_unsynced(disk)
    disk.crash()
    assert disk.tree("/data") == {"a": b"safe11112222"}


def test_handles_and_locks_of_a_killed_process_are_gone(disk: FaultyDisk) -> None:
    file = disk.open("/data/a", create=True)
    lock = disk.lock("/data/.lock")
    assert disk.open_handles == 1
    disk.crash()
    assert disk.open_handles == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.write(b"x", 0)
    disk.lock("/data/.lock")
    lock.release()  # of an earlier life: it releases nothing
    file.close()
    with pytest.raises(DirectoryInUse):
        disk.lock("/data/.lock")
    assert disk.open_handles == 0


def test_power_loss_takes_all_that_was_not_synced(disk: FaultyDisk) -> None:
    write_unsynced(disk)
    disk.power_loss()
    assert disk.tree("/data") == {"a": b"safe"}


def test_power_loss_may_leave_some_writes_and_tear_the_last(disk: FaultyDisk) -> None:
    write_unsynced(disk)
    found = contents_after_power_loss(disk)
    assert {b"safe", b"safe1111", b"safe11112222", b"safe11", b"safe111122", b"safe1111\0\0\0\0"} <= found
    assert all(content is not None and content.startswith(b"safe") for content in found)


def test_power_loss_may_leave_holes(disk: FaultyDisk) -> None:
    write_unsynced(disk)
    disk.open("/data/a").write(b"3" * 40, 12)
    holes = [content for content in contents_after_power_loss(disk) if content and b"\0" in content.rstrip(b"\0")]
    assert holes
    assert all(bytes(16) in content for content in holes)  # a disk loses blocks, not a few bytes


def test_a_truncation_may_be_undone(disk: FaultyDisk) -> None:
    write_file(disk, "/data/a", b"0123456789", sync=True)
    disk.sync_dir("/data")
    disk.open("/data/a").truncate(5)
    assert contents_after_power_loss(disk) == {b"01234", b"0123456789"}


def test_a_synced_file_is_lost_with_its_name(disk: FaultyDisk) -> None:
    write_file(disk, "/data/a", b"safe", sync=True)
    assert contents_after_power_loss(disk) == {None, b"safe"}
    disk.power_loss()
    assert disk.tree("/data") == {}


def test_a_directory_is_lost_with_all_that_is_in_it(disk: FaultyDisk) -> None:
    disk.make_dir("/data/dir")
    write_file(disk, "/data/dir/a", b"safe", sync=True)
    disk.sync_dir("/data/dir")
    tried = disk.copy()
    tried.power_loss()
    assert tried.tree("/data") == {}
    disk.sync_dir("/data")
    disk.power_loss()
    assert disk.tree("/data") == {"dir/a": b"safe"}


def test_renames_and_removals_may_be_undone_from_the_last_one_back(disk: FaultyDisk) -> None:
    for name in "abc":
        disk.put(f"/data/{name}", name.encode())
    disk.rename("/data/a", "/data/d")
    disk.remove("/data/b")
    disk.rename("/data/c", "/data/d")
    found = set()
    for seed in SEEDS:
        tried = disk.copy()
        tried.power_loss(Random(seed))
        found.add("".join(f"{name}{content.decode()} " for name, content in tried.tree("/data").items()))
    assert found == {"aa bb cc ", "bb cc da ", "cc da ", "dc "}
    disk.power_loss()
    assert disk.tree("/data") == {"a": b"a", "b": b"b", "c": b"c"}


def test_a_replaced_file_survives_power_loss(disk: FaultyDisk) -> None:
    disk.put("/data/a", b"old")
    for left in disks_after_death(disk, lambda tried: replace_file(tried, "/data/a", b"new")):
        for seed in range(20):
            tried = left.copy()
            tried.power_loss(Random(seed))
            assert tried.tree("/data")["a"] in (b"old", b"new")
    replace_file(disk, "/data/a", b"new")
    disk.power_loss()
    assert disk.tree("/data") == {"a": b"new"}


def test_a_process_dies_in_each_of_its_changes(disk: FaultyDisk) -> None:
    left = [
        tried.tree("/data") for tried in disks_after_death(disk, lambda tried: replace_file(tried, "/data/a", b"new!"))
    ]
    assert left == [
        {},  # in the creation
        {"a.tmp": b""},  # in the truncation
        {"a.tmp": b"ne"},  # half way through the write
        {"a.tmp": b"new!"},  # in the sync
        {"a.tmp": b"new!"},  # in the rename
        {"a": b"new!"},  # in the sync of the directory
    ]


def test_a_dead_process_changes_nothing_more(disk: FaultyDisk) -> None:
    file = disk.open("/data/a", create=True)
    disk.die_at(1)
    with pytest.raises(Died):
        file.write(b"1234", 0)
    for attempt in (
        lambda: file.write(b"5678", 4),
        lambda: file.truncate(0),
        lambda: disk.rename("/data/a", "/data/b"),
        lambda: disk.remove("/data/a"),
        lambda: disk.open("/data/b", create=True),
    ):
        with pytest.raises(Died):
            attempt()
    file.close()
    disk.crash()
    assert disk.tree("/data") == {"a": b"12"}
    disk.remove("/data/a")


def test_faults_wait_for_their_operation_and_path(disk: FaultyDisk) -> None:
    log, index = disk.open("/data/0.log", create=True), disk.open("/data/0.index", create=True)
    disk.fail_next(Op.SYNC, on=".log")
    index.sync()
    log.write(b"hello", 0)
    with pytest.raises(OSError, match=r"Input/output error: '/data/0.log'"):
        log.sync()
    log.sync()


def test_a_failing_write_may_have_written_a_part(disk: FaultyDisk) -> None:
    file = disk.open("/data/a", create=True)
    disk.fail_next(Op.WRITE, errno.EIO, written=3)
    with pytest.raises(OSError, match="Input/output error"):
        file.write(b"hello", 0)
    assert disk.tree("/data") == {"a": b"hel"}


def test_faults_may_come_later_and_last(disk: FaultyDisk) -> None:
    file = disk.open("/data/a", create=True)
    disk.inject(Fault(Op.WRITE, after=2, times=None))
    file.write(b"1", 0)
    file.write(b"2", 1)
    for _ in range(3):
        with pytest.raises(OSError, match="Input/output error"):
            file.write(b"3", 2)
    disk.heal()
    file.write(b"3", 2)
    assert disk.tree("/data") == {"a": b"123"}


@pytest.mark.parametrize("op", [op for op in Op if op not in (Op.READ, Op.WRITE)])
def test_every_operation_can_fail(disk: FaultyDisk, op: Op) -> None:
    disk.put("/data/a", b"")
    disk.make_dir("/data/dir")
    file = disk.open("/data/a")
    attempts: dict[Op, Callable[[], object]] = {
        Op.OPEN: lambda: disk.open("/data/a"),
        Op.CREATE: lambda: disk.open("/data/b", create=True),
        Op.TRUNCATE: lambda: file.truncate(0),
        Op.ALLOCATE: lambda: file.allocate(5),
        Op.SYNC: lambda: file.sync(),
        Op.LIST: lambda: disk.list("/data"),
        Op.MAKE_DIR: lambda: disk.make_dir("/data/b"),
        Op.RENAME: lambda: disk.rename("/data/a", "/data/b"),
        Op.REMOVE: lambda: disk.remove("/data/a"),
        Op.REMOVE_DIR: lambda: disk.remove_dir("/data/dir"),
        Op.SYNC_DIR: lambda: disk.sync_dir("/data"),
        Op.SYNC_ALL: lambda: disk.sync_all("/data"),
        Op.LOCK: lambda: disk.lock("/data/.lock"),
    }
    before = disk.tree("/data")
    disk.fail_next(op, errno.EACCES)
    with pytest.raises(PermissionError):
        attempts[op]()
    assert disk.tree("/data") == before
    attempts[op]()


def test_a_full_disk_takes_what_fits(disk: FaultyDisk) -> None:
    disk.put("/data/old", bytes(60))
    disk.set_capacity(100)
    file = disk.open("/data/a", create=True)
    with pytest.raises(OSError, match="No space left on device"):
        file.write(b"x" * 50, 0)
    assert file.size() == 40
    file.write(b"y" * 40, 0)  # in place: no more room is needed
    with pytest.raises(OSError, match="No space left on device"):
        file.allocate(41)
    disk.remove("/data/old")
    file.allocate(100)
    disk.set_capacity(None)
    file.write(b"z" * 1000, 0)


def test_one_directory_can_be_full_while_others_are_not() -> None:
    disk = FaultyDisk("/a", "/b")
    disk.set_capacity(0, under="/a")
    with pytest.raises(OSError, match="No space left on device"):
        disk.open("/a/file", create=True).write(b"x", 0)
    disk.open("/b/file", create=True).write(b"x", 0)


def test_operations_are_counted(disk: FaultyDisk) -> None:
    replace_file(disk, "/data/a", b"hello")
    assert {op.value: number for op, number in disk.counts.items()} == {
        "create": 1,
        "open": 1,
        "truncate": 1,
        "write": 1,
        "sync": 1,
        "rename": 1,
        "sync_dir": 1,
    }
    assert disk.bytes_written == 5
