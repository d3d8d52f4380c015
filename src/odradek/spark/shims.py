"""Scripts that start a program as it is, but for something in its arguments or its environment."""

import atexit
import fcntl
import os
import shlex
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_SHIM = """#!/bin/sh
{first}
exec {program} "$@"
"""


def make_shim(name: str, program: Path, first: str) -> Path | None:
    """A directory as long as this process, where `bin` has a script of this name that runs the program.

    `first` is what it does before, in lines of a shell. None where no program may be run from the temporary directory.
    """
    home = make_home(name)
    shim = home / "bin" / name
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(first=first, program=shlex.quote(str(program))), encoding="utf-8")
    shim.chmod(0o755)
    return home if os.access(shim, os.X_OK) else None


def make_home(name: str) -> Path:
    """A temporary directory as long as this process, however long that is: systems that clear away what has not been
    used for days leave directories alone that somebody has locked."""
    home = Path(tempfile.mkdtemp(prefix=f"odradek-{name}-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with suppress(OSError):  # not every file system has locks
        fcntl.flock(os.open(home, os.O_RDONLY), fcntl.LOCK_SH)  # until this process ends
    return home
