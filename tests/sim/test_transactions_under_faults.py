"""Applications that pass values on in transactions, one test for each seed.

`./run sim transactions --seed N` tells the story of one.
"""

import pytest

from support.sim.transactions.run import run

SEEDS = range(1, 31)
SYNCED = range(51, 57)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_each_value_is_passed_on_exactly_once(seed: int) -> None:
    outcome = run(seed)
    assert outcome.violation is None, f"\n{outcome.told()}"
    assert outcome.values > 0
    assert outcome.committed > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", SYNCED)
def test_so_it_is_where_each_record_is_synced_first(seed: int) -> None:
    """Then others come in between while a coordinator or a partition waits for the disk."""
    outcome = run(seed, is_synced=True)
    assert outcome.violation is None, f"\n{outcome.told()}"
    assert outcome.committed > 0


@pytest.mark.slow
def test_a_seed_is_a_whole_history() -> None:
    first, second = run(7), run(7)
    assert first == second
    assert first.lives > 1
