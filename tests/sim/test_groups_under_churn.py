"""Groups of both protocols under churn, one test for each seed. `./run sim --seed N` tells the story of one."""

import os
import subprocess
import sys

import pytest

from support.sim.groups.run import run

SEEDS = range(1, 31)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_groups_keep_their_promises(seed: int) -> None:
    outcome = run(seed)
    assert outcome.violation is None, f"\n{outcome.told()}"
    assert outcome.stable_moments > 0


@pytest.mark.slow
def test_a_seed_is_a_whole_history() -> None:
    """In any process: nothing depends on the order of a set."""
    first, second = _story_of(4, hash_seed=1), _story_of(4, hash_seed=2)
    assert first == second
    assert "the churn ends" in first


def _story_of(seed: int, *, hash_seed: int) -> str:
    command = (sys.executable, "-m", "support.sim", "--seed", str(seed))
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
