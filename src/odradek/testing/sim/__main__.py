"""`./run sim`: groups under churn, for as many seeds as asked for."""

import argparse
import sys
from collections.abc import Iterator
from multiprocessing import Pool, cpu_count

from odradek.testing.sim.groups.run import Outcome, run

_SEEDS = 200


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=_SEEDS, metavar="N", help=f"how many to run ({_SEEDS})")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first of them (1)")
    parser.add_argument("--seed", type=int, metavar="N", help="run this one alone, and print what happened")
    parser.add_argument("--jobs", type=int, default=cpu_count(), metavar="N", help="how many at a time")
    asked = parser.parse_args()
    if asked.seed is not None:
        outcome = run(asked.seed)
        sys.stdout.write("\n".join(outcome.trace) + f"\n{_line(outcome)}\n")
        return int(outcome.violation is not None)
    failed = 0
    moments = records = settled_ms = 0
    for outcome in _outcomes(range(asked.first, asked.first + asked.seeds), asked.jobs):
        moments += outcome.stable_moments
        records += outcome.records
        settled_ms = max(settled_ms, outcome.settled_ms)
        if outcome.violation is not None:
            failed += 1
            sys.stdout.write(f"{outcome.told()}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{asked.seeds} seeds, {failed} failed; {moments} stable moments, {records} records; "
        f"settled after at most {settled_ms / 1000:.0f} s\n"
    )
    return int(failed > 0)


def _outcomes(seeds: range, jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(run, seeds)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(run, seeds)


def _line(outcome: Outcome) -> str:
    if outcome.violation is not None:
        return f"seed {outcome.seed}: {outcome.violation}"
    return f"seed {outcome.seed}: {outcome.stable_moments} stable moments, {outcome.records} records"


if __name__ == "__main__":
    sys.exit(main())
