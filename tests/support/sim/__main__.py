"""`./run sim`: groups under churn, transactions under faults, or one node on a bad machine, for many seeds."""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from multiprocessing import Pool, cpu_count
from typing import Any, NamedTuple

from support.sim.groups import run as groups
from support.sim.one_node import run as one_node
from support.sim.transactions import run as transactions

_SEEDS = 200
_ALL = "all"


class _Simulation(NamedTuple):
    run: Callable[[int], Any]
    """A seed to what came of it."""
    sum_up: Callable[[list[Any]], str]


_SIMULATIONS = {
    "groups": _Simulation(groups.run, groups.sum_up),
    "node": _Simulation(one_node.run, one_node.sum_up),
    "transactions": _Simulation(transactions.run, transactions.sum_up),
}
_SYNCED = _Simulation(partial(transactions.run, is_synced=True), transactions.sum_up)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run sim", description=__doc__)
    parser.add_argument("what", nargs="?", choices=[*sorted(_SIMULATIONS), _ALL], default="groups")
    parser.add_argument("--seeds", type=int, default=_SEEDS, metavar="N", help=f"how many to run ({_SEEDS})")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first of them (1)")
    parser.add_argument("--seed", type=int, metavar="N", help="run this one alone, and print what happened")
    parser.add_argument("--synced", action="store_true", help="transactions: each record is synced before it counts")
    parser.add_argument("--jobs", type=int, default=cpu_count(), metavar="N", help="how many at a time")
    asked = parser.parse_args()
    if asked.synced and asked.what != "transactions":
        parser.error("--synced is for transactions")
    seeds = range(asked.first, asked.first + asked.seeds)
    if asked.what == _ALL:
        if asked.seed is not None:
            parser.error("--seed is for one simulation")
        return max([_run_many(name, simulation, seeds, asked.jobs) for name, simulation in _SIMULATIONS.items()])
    simulation = _SYNCED if asked.synced else _SIMULATIONS[asked.what]
    if asked.seed is None:
        return _run_many(asked.what, simulation, seeds, asked.jobs)
    outcome = simulation.run(asked.seed)
    said = outcome.violation or simulation.sum_up([outcome])
    sys.stdout.write("\n".join((*outcome.trace, f"seed {outcome.seed}: {said}\n")))
    return int(outcome.violation is not None)


def _run_many(name: str, simulation: _Simulation, seeds: range, jobs: int) -> int:
    """The exit status."""
    outcomes = []
    for outcome in _outcomes(simulation.run, seeds, jobs):
        outcomes.append(replace(outcome, trace=()))
        if outcome.violation is not None:
            sys.stdout.write(f"{outcome.told()}\n")
            sys.stdout.flush()
    failed = sum(outcome.violation is not None for outcome in outcomes)
    sys.stdout.write(f"{name}: {len(seeds)} seeds, {failed} failed; {simulation.sum_up(outcomes)}\n")
    sys.stdout.flush()
    return int(failed > 0)


def _outcomes(run: Callable[[int], Any], seeds: range, jobs: int) -> Iterator[Any]:
    if jobs == 1:
        yield from map(run, seeds)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(run, seeds)


if __name__ == "__main__":
    sys.exit(main())
