"""Groups of both protocols under churn, one test for each seed. `./run sim --seed N` tells the story of one."""

import pytest

from odradek.testing.sim.groups.run import run

SEEDS = range(1, 51)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_groups_keep_their_promises(seed: int) -> None:
    outcome = run(seed)
    assert outcome.violation is None, f"\n{outcome.told()}"
    assert outcome.stable_moments > 0


@pytest.mark.slow
def test_a_seed_is_a_whole_history() -> None:
    first, second = run(4), run(4)
    assert first == second
    assert first.trace
