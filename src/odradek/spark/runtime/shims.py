"""Scripts that start a program as it is, but for something in its arguments or its environment."""

import os
import shlex
from pathlib import Path

from odradek.spark.runtime.homes import make_home

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
