import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.spark.runtime.homes import make_home


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_home_is_safe_from_those_who_clear_temporary_directories_away() -> None:
    """They lock a directory before they look into it, and pass by one that is locked."""
    opened = os.open(make_home("python"), os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(opened)


def test_what_a_killed_process_left_behind_is_cleared_away(root: Path) -> None:
    left = _old(root / "odradek-home-fork-1")
    (left / "socket").touch()
    _age(left)
    make_home("python")
    assert not left.exists()


def test_the_home_of_a_process_that_runs_is_left_alone(root: Path) -> None:
    kept = _old(root / "odradek-home-python-1")
    opened = os.open(kept, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_SH)
        make_home("python")
        assert kept.exists()
    finally:
        os.close(opened)


def test_a_home_that_was_just_made_is_left_alone(root: Path) -> None:
    """Whoever makes it has not locked it yet."""
    young = root / "odradek-home-java-1"
    young.mkdir()
    make_home("python")
    assert young.exists()


def test_what_is_no_home_is_left_alone(root: Path) -> None:
    other = _old(root / "odradek-data-1")
    target = _old(root / "target")
    link = root / "odradek-home-fork-link"
    link.symlink_to(target)
    make_home("python")
    assert other.exists()
    assert target.exists()
    assert link.is_symlink()


FORKS = """
import os, sys
from odradek.spark.runtime.homes import make_home
home = make_home("python")
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(home, home.exists())
"""


def test_a_home_is_not_cleared_away_by_a_child_that_ends() -> None:
    """It has the same handlers as its parent."""
    ended = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    home, is_there = ended.stdout.split()
    assert is_there == "True"
    assert not Path(home).exists()


def _old(path: Path) -> Path:
    path.mkdir()
    _age(path)
    return path


def _age(path: Path) -> None:
    os.utime(path, (0, 0))
