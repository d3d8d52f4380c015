"""What a seed says before anything happens: which groups there are, of whom, and how bad things get."""

from dataclasses import dataclass
from random import Random

from support.sim.groups.spec import LATEST, MIDDLE, OLD, Protocol, Versions
from support.sim.streams import Weather

_PATTERN = "topic-.*"


@dataclass(frozen=True, kw_only=True)
class GroupPlan:
    group_id: str
    protocols: tuple[Protocol, ...]
    """What its members speak. Members of a group with several move from one to the next."""
    size: int
    """How many there are at the beginning."""
    static_share: float
    regex_share: float
    topics: tuple[str, ...]

    @property
    def pattern(self) -> str:
        return _PATTERN

    def versions(self, rng: Random, protocol: Protocol, *, is_static: bool) -> Versions:
        if protocol is Protocol.CONSUMER:
            return LATEST
        if protocol is Protocol.COOPERATIVE or is_static:
            return rng.choice((LATEST, MIDDLE))
        return rng.choice((LATEST, LATEST, MIDDLE, OLD))


@dataclass(frozen=True, kw_only=True)
class Plan:
    groups: tuple[GroupPlan, ...]
    topics: dict[str, int]
    """With their partitions."""
    weather: Weather
    churn_ms: int
    gap_ms: int
    """Between two things that happen, on average."""
    kills: int
    members_max: int


def plan_of(rng: Random, *, migrates: bool = False) -> Plan:
    topics = {f"topic-{number}": rng.choice((1, 2, 3, 6, 12, 24)) for number in range(rng.randint(1, 3))}
    is_large = rng.random() < 0.08
    sizes = [rng.randint(60, 95)] if is_large else [rng.randint(1, 12) for _ in range(rng.randint(1, 3))]
    groups = tuple(_group(rng, f"group-{number}", size, tuple(topics), migrates) for number, size in enumerate(sizes))
    is_bad = rng.random() < 0.5
    return Plan(
        groups=groups,
        topics=topics,
        weather=Weather(
            delay_ms_max=rng.choice((200, 1_500)) if is_bad else 20,
            break_chance=rng.choice((0.002, 0.02)) if is_bad else 0.0,
        ),
        churn_ms=rng.randint(30_000, 60_000 if is_large else 120_000),
        gap_ms=rng.choice((300, 1_000, 4_000)),
        kills=rng.choice((0, 1, 2, 4)),
        members_max=100 if is_large else 30,
    )


def _group(rng: Random, group_id: str, size: int, topics: tuple[str, ...], migrates: bool) -> GroupPlan:
    choices: list[tuple[Protocol, ...]] = [*((protocol,) for protocol in Protocol)] * 2
    if migrates:
        choices += [(Protocol.RANGE, Protocol.CONSUMER), (Protocol.COOPERATIVE, Protocol.CONSUMER)] * 2
    return GroupPlan(
        group_id=group_id,
        protocols=rng.choice(choices),
        size=size,
        static_share=rng.choice((0.0, 0.0, 0.3, 1.0)),
        regex_share=rng.choice((0.0, 0.0, 0.5)),
        topics=tuple(topic for topic in topics if rng.random() < 0.7) or topics[:1],
    )
