"""What a seed says before anything happens: which way values go, by whom they are passed on, and how bad things get."""

from dataclasses import dataclass
from random import Random

from support.sim.groups.spec import Protocol
from support.sim.streams import Weather
from support.sim.transactions.feeder import FEED_MEAN
from support.sim.transactions.flow import MIDDLE, NEW, OLD, OLDEST, Flow
from support.sim.transactions.stage import Stage

_ANY_MIX: tuple[tuple[Flow, ...], ...] = ((NEW,), (NEW,), (OLD,), (MIDDLE,), (NEW, OLD))
_MIX_ALONE: tuple[tuple[Flow, ...], ...] = (*_ANY_MIX, (OLDEST,))


@dataclass(frozen=True, kw_only=True)
class Plan:
    stages: tuple[Stage, ...]
    values: int
    feed_gap_ms: int
    """So that there is something to pass on until the end."""
    weather: Weather
    prompt: Weather
    churn_ms: int
    gap_ms: int
    """Between two things that happen, on average."""
    kills: int
    death_chance: float
    is_epoch_high: bool
    """Whether transactional ids have used nearly all their epochs before anything begins."""
    fetch_sizes: tuple[int, ...]
    """Of readers."""

    @property
    def topics(self) -> dict[str, int]:
        """With their partitions."""
        first = {self.stages[0].source: self.stages[0].partitions}
        return first | {stage.target: stage.spread for stage in self.stages}


def plan_of(rng: Random) -> Plan:
    widths = [rng.randint(1, 4) for _ in range(rng.choice((2, 2, 3)))]
    is_bad = rng.random() < 0.6
    delay_ms = rng.choice((50, 400)) if is_bad else 10
    break_chance = rng.choice((0.005, 0.02)) if is_bad else 0.0
    churn_ms, values = rng.randint(40_000, 90_000), rng.randint(60, 300)
    return Plan(
        stages=tuple(_stage(rng, number, widths) for number in range(len(widths) - 1)),
        values=values,
        feed_gap_ms=churn_ms * FEED_MEAN // values,
        weather=Weather(delay_ms_max=delay_ms, break_chance=break_chance),
        prompt=Weather(delay_ms_max=delay_ms, break_chance=break_chance, late_ms_max=0),
        churn_ms=churn_ms,
        gap_ms=rng.choice((1_500, 4_000, 10_000)),
        kills=rng.choice((0, 1, 3)),
        death_chance=rng.choice((0.0, 0.05, 0.2)),
        is_epoch_high=rng.random() < 0.3,
        fetch_sizes=(1, rng.choice((150, 300, 600)), 1 << 20),
    )


def _stage(rng: Random, number: int, widths: list[int]) -> Stage:
    protocol = rng.choice((None, None, Protocol.RANGE, Protocol.COOPERATIVE, Protocol.CONSUMER))
    return Stage(
        group_id=f"group-{number}",
        source=f"topic-{number}",
        partitions=widths[number],
        target=f"topic-{number + 1}",
        spread=widths[number + 1],
        protocol=protocol,
        flows=rng.choice(_MIX_ALONE if protocol is None else _ANY_MIX),
        size=rng.randint(2, 4),
        timeout_ms=rng.choice((3_000, 10_000, 30_000)),
        abort_chance=rng.choice((0.0, 0.1, 0.3)),
        take_max=rng.choice((2, 8, 30)),
        linger_ms=rng.choice((5, 100, 400)),
        hesitates=rng.choice((0.0, 0.05, 0.2)),
    )
