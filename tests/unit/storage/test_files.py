"""What storage expects of a file system. The real one and the one of the tests pass the same tests."""

import errno
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.model.errors import DirectoryInUse
from odradek.process.files import Entry, Files, OsFiles, remove_tree, replace_file, write_file
from support.disk import FaultyDisk


class Place(NamedTuple):
    files: Files
    top: str


@pytest.fixture(params=["os", "faulty"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(OsFiles(), str(tmp_path)) if request.param == "os" else Place(FaultyDisk("/data"), "/data")


def test_a_file_is_written_and_read_at_positions(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    file.write(b"hello", 0)
    file.write(memoryview(b"J"), 0)
    file.write(bytearray(b"!"), 5)
    assert file.read(100, 0) == b"Jello!"
    assert file.read(3, 1) == b"ell"
    assert file.read(3, 6) == b""
    assert file.size() == 6
    file.close()
    assert place.files.read_whole(f"{place.top}/a") == b"Jello!"


def test_a_write_past_the_end_leaves_zeros_before_it(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    file.write(b"x", 3)
    assert file.read(9, 0) == b"\0\0\0x"


def test_an_empty_write_changes_nothing(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    file.write(b"", 7)
    assert file.size() == 0


def test_truncate_cuts_or_extends(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    file.write(b"hello", 0)
    file.truncate(2)
    file.truncate(4)
    assert file.read(9, 0) == b"he\0\0"


def test_allocate_extends_with_zeros_and_never_cuts(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    file.write(b"hello", 0)
    file.allocate(7)
    file.allocate(3)
    assert file.read(9, 0) == b"hello\0\0"


def test_a_file_opened_to_read_cannot_be_written(place: Place) -> None:
    write_file(place.files, f"{place.top}/a", b"hello", sync=True)
    file = place.files.open_to_read(f"{place.top}/a")
    assert file.read(5, 0) == b"hello"
    with pytest.raises(OSError) as refused:  # noqa: PT011 - the number is looked at
        file.write(b"x", 0)
    assert refused.value.errno == errno.EBADF


def test_a_closed_file_is_of_no_use_and_may_be_closed_again(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    file.close()
    file.close()
    with pytest.raises(OSError):  # noqa: PT011
        file.read(1, 0)


def test_a_removed_file_can_be_read_by_those_who_have_it_open(place: Place) -> None:
    write_file(place.files, f"{place.top}/a", b"hello", sync=True)
    file = place.files.open(f"{place.top}/a")
    place.files.remove(f"{place.top}/a")
    assert not place.files.exists(f"{place.top}/a")
    assert file.read(5, 0) == b"hello"
    write_file(place.files, f"{place.top}/a", b"other", sync=True)
    assert file.read(5, 0) == b"hello"


def test_an_open_file_keeps_its_content_under_a_new_name(place: Place) -> None:
    file = place.files.open(f"{place.top}/a", create=True)
    place.files.rename(f"{place.top}/a", f"{place.top}/b")
    file.write(b"hello", 0)
    assert place.files.read_whole(f"{place.top}/b") == b"hello"
    assert not place.files.exists(f"{place.top}/a")


def test_missing_files_and_directories_are_said_to_be_missing(place: Place) -> None:
    for attempt in (
        lambda: place.files.open(f"{place.top}/no"),
        lambda: place.files.open(f"{place.top}/no/file", create=True),
        lambda: place.files.open_to_read(f"{place.top}/no"),
        lambda: place.files.read_whole(f"{place.top}/no"),
        lambda: place.files.list(f"{place.top}/no"),
        lambda: place.files.rename(f"{place.top}/no", f"{place.top}/yes"),
        lambda: place.files.remove(f"{place.top}/no"),
        lambda: place.files.remove_dir(f"{place.top}/no"),
        lambda: place.files.sync_dir(f"{place.top}/no"),
        lambda: place.files.make_dir(f"{place.top}/no/dir"),
        lambda: place.files.lock(f"{place.top}/no/.lock"),
    ):
        with pytest.raises(FileNotFoundError) as missing:
            attempt()
        assert f"{place.top}/no" in str(missing.value)


def test_a_listing_has_names_sizes_and_kinds(place: Place) -> None:
    place.files.make_dir(f"{place.top}/dir")
    write_file(place.files, f"{place.top}/dir/inner", b"12345", sync=False)
    write_file(place.files, f"{place.top}/file", b"123", sync=False)
    assert sorted(place.files.list(place.top)) == [Entry("dir", 0, True), Entry("file", 3, False)]


def test_a_listing_leaves_out_what_went_while_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"123")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")  # a name without a file, as between a rename and its listing
    assert OsFiles().list(str(tmp_path)) == [Entry("there", 3, False)]


def test_a_rename_replaces_a_file(place: Place) -> None:
    write_file(place.files, f"{place.top}/a", b"new", sync=False)
    write_file(place.files, f"{place.top}/b", b"old", sync=False)
    place.files.rename(f"{place.top}/a", f"{place.top}/b")
    assert [entry.name for entry in place.files.list(place.top)] == ["b"]
    assert place.files.read_whole(f"{place.top}/b") == b"new"


def test_a_directory_is_renamed_with_all_that_is_in_it(place: Place) -> None:
    place.files.make_dir(f"{place.top}/dir")
    write_file(place.files, f"{place.top}/dir/inner", b"12345", sync=False)
    place.files.rename(f"{place.top}/dir", f"{place.top}/other")
    assert place.files.read_whole(f"{place.top}/other/inner") == b"12345"


def test_what_stands_in_the_way_is_not_overwritten(place: Place) -> None:
    for name in ("one", "two"):
        place.files.make_dir(f"{place.top}/{name}")
        write_file(place.files, f"{place.top}/{name}/inner", b"", sync=False)
    for attempt, number in (
        (lambda: place.files.make_dir(f"{place.top}/one"), errno.EEXIST),
        (lambda: place.files.rename(f"{place.top}/one", f"{place.top}/two"), errno.ENOTEMPTY),
        (lambda: place.files.remove_dir(f"{place.top}/one"), errno.ENOTEMPTY),
        (lambda: place.files.open(f"{place.top}/one"), errno.EISDIR),
    ):
        with pytest.raises(OSError) as refused:  # noqa: PT011 - the number is looked at
            attempt()
        assert refused.value.errno == number


def test_a_lock_is_held_until_it_is_released(place: Place) -> None:
    lock = place.files.lock(f"{place.top}/.lock")
    with pytest.raises(DirectoryInUse, match=r"/\.lock is held by (this|another) process"):
        place.files.lock(f"{place.top}/.lock")
    with pytest.raises(DirectoryInUse):  # the attempt before did not let go of it
        place.files.lock(f"{place.top}/.lock")
    lock.release()
    place.files.lock(f"{place.top}/.lock").release()
    assert place.files.exists(f"{place.top}/.lock")


def test_a_lock_keeps_other_processes_out(tmp_path: Path) -> None:
    attempt = "import sys; from odradek.process.files import OsFiles; OsFiles().lock(sys.argv[1])"
    path = str(tmp_path / ".lock")
    lock = OsFiles().lock(path)
    with pytest.raises(DirectoryInUse, match="by this process already"):
        OsFiles().lock(path)  # must not cost the lock either: closing any handle on the file would
    refused = subprocess.run([sys.executable, "-c", attempt, path], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"DirectoryInUse: {path} is held by another process" in refused.stderr
    lock.release()
    subprocess.run([sys.executable, "-c", attempt, path], check=True)


def test_replace_file_leaves_the_new_content_alone(place: Place) -> None:
    replace_file(place.files, f"{place.top}/a", b"a long first version")
    replace_file(place.files, f"{place.top}/a", b"short", sync=False)
    assert place.files.list(place.top) == [Entry("a", 5, False)]
    assert place.files.read_whole(f"{place.top}/a") == b"short"


def test_write_file_cuts_what_was_longer(place: Place) -> None:
    write_file(place.files, f"{place.top}/a", b"a long first version", sync=True)
    write_file(place.files, f"{place.top}/a", b"short", sync=True)
    assert place.files.read_whole(f"{place.top}/a") == b"short"


def test_remove_tree_leaves_nothing(place: Place) -> None:
    for name in ("dir", "dir/inner"):
        place.files.make_dir(f"{place.top}/{name}")
        write_file(place.files, f"{place.top}/{name}/file", b"", sync=False)
    remove_tree(place.files, f"{place.top}/dir")
    assert place.files.list(place.top) == []
