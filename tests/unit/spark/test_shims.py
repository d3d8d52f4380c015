import fcntl
import os
from pathlib import Path

import pytest

from odradek.spark.shims import make_shim


def test_a_script_is_safe_from_those_who_clear_temporary_directories_away() -> None:
    """They lock a directory before they look into it, and pass by one that is locked."""
    home = make_shim("tool", Path("/bin/true"), "")
    assert home is not None
    opened = os.open(home, os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(opened)
