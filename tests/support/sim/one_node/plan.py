"""What a seed says before anything happens: which topics and clients there are, and what the machine goes through."""

from dataclasses import dataclass
from enum import Enum
from random import Random

from support.sim.streams import Weather


class Disaster(Enum):
    KILL = "kill"
    DEATH_IN_A_WRITE = "death in a write"
    POWER_LOSS = "power loss"
    CLEAN_STOP = "clean stop"
    FULL_DISK = "full disk"
    FAILING_DISK = "failing disk"
    SLOW_DISK = "slow disk"
    CLOCK_JUMP = "clock jump"
    CUT_LINK = "cut link"


_PROCESS = (Disaster.KILL, Disaster.KILL, Disaster.DEATH_IN_A_WRITE, Disaster.CLEAN_STOP)
_MACHINE = (Disaster.SLOW_DISK, Disaster.CLOCK_JUMP, Disaster.CUT_LINK)
_DISK = (Disaster.FULL_DISK, Disaster.FAILING_DISK)


@dataclass(frozen=True, kw_only=True)
class Plan:
    has_power_losses: bool
    """Then topics sync each record before it counts, all but those that are `loose`."""
    topics: dict[str, int]
    """With their partitions."""
    loose: frozenset[str]
    """Topics that sync when the system likes: power loss may take what was acknowledged."""
    disasters: tuple[Disaster, ...]
    writers: int
    readers: int
    values: int
    """Of transactions."""
    weather: Weather
    churn_ms: int
    gap_ms: int
    """Between two disasters, on average."""


def plan_of(rng: Random) -> Plan:
    has_power_losses = rng.random() < 0.5
    topics = {f"topic-{number}": rng.randint(1, 3) for number in range(rng.randint(2, 3))}
    disasters: tuple[Disaster, ...] = _PROCESS + _MACHINE
    if has_power_losses:
        disasters += (Disaster.POWER_LOSS,) * 4
    if rng.random() < 0.5:
        disasters += _DISK
    is_bad = rng.random() < 0.5
    churn_ms = rng.randint(20_000, 60_000)
    return Plan(
        has_power_losses=has_power_losses,
        topics=topics,
        loose=frozenset(("topic-0",)) if has_power_losses else frozenset(topics),
        disasters=disasters,
        writers=rng.randint(2, 6),
        readers=2,
        values=rng.randint(20, 100),
        weather=Weather(
            delay_ms_max=rng.choice((50, 400)) if is_bad else 10,
            break_chance=rng.choice((0.005, 0.02)) if is_bad else 0.0,
        ),
        churn_ms=churn_ms,
        gap_ms=rng.choice((2_000, 5_000, 10_000)),
    )
