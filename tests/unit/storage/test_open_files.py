"""Thousands of files under a limit of a few handles."""

import pytest

from odradek.process.files import write_file
from odradek.storage.open_files import CAPACITY_LEAST, Handle, OpenFiles, capacity_within
from support.disk import FaultyDisk, Op


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk("/data")
    for number in range(3000):
        disk.put(f"/data/{number}", str(number).encode())
    return disk


def handles(disk: FaultyDisk, count: int, capacity: int = 16) -> tuple[OpenFiles, list[Handle]]:
    owner = OpenFiles(disk, capacity)
    return owner, [Handle(owner, f"/data/{number}") for number in range(count)]


def test_thousands_of_files_are_used_through_sixteen_handles(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 3000)
    for _ in range(2):
        for number, handle in enumerate(every):
            assert handle.get().read(9, 0) == str(number).encode()
            assert len(owner) == disk.open_handles <= 16
    for handle in every:
        handle.close()
    assert len(owner) == disk.open_handles == 0


def test_a_handle_that_is_in_use_is_not_opened_again(disk: FaultyDisk) -> None:
    _, every = handles(disk, 16)
    for _ in range(100):
        for handle in every:
            handle.get()
    assert disk.counts[Op.OPEN] == 16


def test_one_that_is_used_all_the_time_stays_open(disk: FaultyDisk) -> None:
    _, every = handles(disk, 1000)
    busy = every[0]
    for handle in every[1:]:
        busy.get()
        handle.get()
    assert disk.counts[Op.OPEN] <= 1001  # it may lose its place once, when every other was used just as lately


def test_a_pinned_file_stays_open_whatever_else_is_used(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 1000)
    file = every[0].pin()
    for handle in every[1:]:
        handle.get()
    assert every[0].file is file
    assert file.read(9, 0) == b"0"
    every[0].close()
    assert file.read(9, 0) == b"0"
    every[0].unpin()
    assert len(owner) == 16


def test_more_pinned_files_than_the_capacity_are_all_open(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 40)
    files = [handle.pin() for handle in every]
    assert [file.read(9, 0) for file in files] == [str(number).encode() for number in range(40)]
    assert len(owner) == 40
    for handle in every:
        handle.unpin()
    Handle(owner, "/data/50").get()
    Handle(owner, "/data/51").get()
    for handle in every:
        handle.close()
    assert len(owner) == disk.open_handles == 2


def test_after_a_crowd_of_pinned_files_the_capacity_holds_again(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 40)
    for handle in every:
        handle.pin()
    for handle in every:
        handle.unpin()
    for number in range(100, 200):
        Handle(owner, f"/data/{number}").get()
    assert len(owner) == disk.open_handles <= 16


def test_a_forgotten_file_is_closed_at_once_or_with_its_last_pin(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 2)
    every[0].get()
    every[0].forget()
    assert len(owner) == 0
    file = every[1].pin()
    every[1].pin()
    every[1].forget()
    disk.remove("/data/1")
    assert file.read(9, 0) == b"1"
    every[1].unpin()
    assert file.read(9, 0) == b"1"
    every[1].unpin()
    assert len(owner) == disk.open_handles == 0
    with pytest.raises(OSError):  # noqa: PT011
        every[1].get()


def test_files_that_are_held_take_no_more_than_the_capacity(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 1000)
    for handle in every:
        handle.get()
        handle.hold()
    assert len(owner) == disk.open_handles <= 16
    assert [handle.get().read(9, 0) for handle in every] == [str(number).encode() for number in range(1000)]
    for handle in every:
        handle.let_go()
        handle.close()
    assert len(owner) == disk.open_handles == 0


def test_a_held_file_can_be_read_after_it_was_deleted(disk: FaultyDisk) -> None:
    owner, every = handles(disk, 1000)
    held, *others = every
    held.hold()
    held.hold()
    held.forget()
    disk.remove("/data/0")
    for handle in others:
        handle.get()
    assert held.get().read(9, 0) == b"0"
    held.let_go()
    assert held.get().read(9, 0) == b"0"
    held.let_go()
    with pytest.raises(OSError):  # noqa: PT011
        held.get()
    assert len(owner) == disk.open_handles <= 16


def test_a_closed_file_opens_again_under_its_new_name(disk: FaultyDisk) -> None:
    _, (handle, *_) = handles(disk, 1)
    handle.get()
    handle.close()
    disk.rename("/data/0", "/data/renamed")
    handle.path = "/data/renamed"
    assert handle.get().read(9, 0) == b"0"


def test_a_file_that_cannot_be_opened_takes_no_room(disk: FaultyDisk) -> None:
    owner, (handle, *_) = handles(disk, 1)
    disk.fail_next(Op.OPEN)
    with pytest.raises(OSError, match="Input/output error"):
        handle.get()
    assert len(owner) == 0
    assert handle.get().read(9, 0) == b"0"
    with pytest.raises(FileNotFoundError):
        Handle(owner, "/data/none").get()
    Handle(owner, "/data/none").create()
    assert len(owner) == 2


def test_a_pin_that_fails_pins_nothing(disk: FaultyDisk) -> None:
    _, (handle, *_) = handles(disk, 1)
    disk.fail_next(Op.OPEN)
    with pytest.raises(OSError, match="Input/output error"):
        handle.pin()
    assert handle.pins == 0


def test_half_of_the_limit_is_for_files() -> None:
    assert capacity_within(1000) == 500
    assert capacity_within(10) == CAPACITY_LEAST
    assert capacity_within(1 << 30) == 16_384


def test_files_written_beside_the_set_are_not_counted(disk: FaultyDisk) -> None:
    owner, _ = handles(disk, 1)
    write_file(disk, "/data/other", b"x", sync=True)
    assert len(owner) == disk.open_handles == 0
