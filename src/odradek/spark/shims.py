"""Scripts that start a program as it is, but for something in its arguments or its environment."""

import atexit
import shlex
import shutil
import tempfile
from pathlib import Path

_SHIM = """#!/bin/sh
{first}
exec {program} "$@"
"""


def make_shim(name: str, program: Path, first: str) -> Path:
    """A directory as long as this process, where `bin` has a script of this name that runs the program.

    `first` is what it does before, in lines of a shell.
    """
    home = Path(tempfile.mkdtemp(prefix=f"odradek-{name}-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    shim = home / "bin" / name
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(first=first, program=shlex.quote(str(program))), encoding="utf-8")
    shim.chmod(0o755)
    return home
