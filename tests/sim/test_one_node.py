"""One node on a machine that fails in every way, one test for each seed.

`./run sim node --seed N` tells the story of one, `./run soak` runs many more.
"""

import os
import subprocess
import sys

import pytest

from support.sim.one_node.run import run

SEEDS = range(1, 26)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_node_keeps_what_it_acknowledged(seed: int) -> None:
    outcome = run(seed)
    assert outcome.violation is None, f"\n{outcome.told()}"
    assert outcome.acked > 0
    assert outcome.committed > 0


@pytest.mark.slow
def test_a_seed_is_a_whole_history() -> None:
    """In any process: nothing depends on the order of a set, nor on the machine's clock."""
    first, second = _story_of(5, hash_seed=1), _story_of(5, hash_seed=2)
    assert first == second
    assert "the churn is over" in first


def _story_of(seed: int, *, hash_seed: int) -> str:
    command = (sys.executable, "-m", "support.sim", "node", "--seed", str(seed))
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
