"""Temporary directories that last as long as this process."""

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

_PREFIX = "odradek-home-"
_YOUNG_S = 60.0
"""A directory is not locked yet when it is made."""


def make_home(name: str) -> Path:
    """One for `name`, however long this process runs: systems that clear away what has not been used for days leave
    directories alone that somebody has locked."""
    home = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{name}-"))
    at_end(shutil.rmtree, home, True)  # errors are ignored
    with suppress(OSError):  # not every file system has locks
        fcntl.flock(os.open(home, os.O_RDONLY), fcntl.LOCK_SH)  # until this process ends
    _clear_away_left_behind(home)
    return home


def at_end(act: Callable[..., object], *arguments: object) -> None:
    """When this process ends, and not when one ends that it has forked: that has what is registered here, too."""
    atexit.register(_if_here, os.getpid(), act, *arguments)


def _if_here(process: int, act: Callable[..., object], *arguments: object) -> None:
    if os.getpid() == process:
        act(*arguments)


def _clear_away_left_behind(new: Path) -> None:
    """Those beside a new one, of processes that were killed: nobody has them locked any more."""
    now_s = new.stat().st_mtime
    for home in homes_of("*"):
        with suppress(OSError):  # gone, or no directory
            if now_s - home.lstat().st_mtime > _YOUNG_S:
                _clear_away(home)


def homes_of(name: str) -> Iterator[Path]:
    """Those of this user's processes, this one's among them."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{name}-*"):
        with suppress(OSError):  # gone
            if home.lstat().st_uid == os.getuid():
                yield home


def _clear_away(home: Path) -> None:
    """Raises OSError where a process has it locked."""
    opened = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(home, ignore_errors=True)
    finally:
        os.close(opened)
