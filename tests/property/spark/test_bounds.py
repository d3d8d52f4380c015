import os
import subprocess
import sys
from pathlib import Path
from random import SystemRandom

import pytest

CHILD = Path(__file__).with_name("bounds_child.py")


@pytest.mark.slow
def test_no_damage_makes_the_kernel_leave_its_arrays() -> None:
    """In a process of its own: numba takes the setting when it is loaded."""
    seed = SystemRandom().randrange(1 << 32)
    child = subprocess.run(
        [sys.executable, CHILD, str(seed), "5000"],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert child.returncode == 0, f"seed {seed}: {child.stderr}"
