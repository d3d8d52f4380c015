"""Tenants who work in software-defined data centres, some of which slow down at moments that the seed knows."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from odradek.pipelines.contract import TENANT_PLANS, TIME, json_text, operations_topic, time_text
from odradek.pipelines.simulation.event import Event

PRODUCTS = ("compute", "storage")
PLANS = ("free", "team", "enterprise")
_LATENCIES_US = {
    "login": (18_000, 0.35),
    "list": (9_000, 0.4),
    "deploy": (420_000, 0.5),
    "resize": (150_000, 0.45),
    "snapshot": (260_000, 0.5),
    "read": (3_500, 0.55),
    "write": (6_000, 0.5),
}
_OPERATIONS = {"compute": ("login", "list", "deploy", "resize"), "storage": ("list", "snapshot", "read", "write")}
_ERROR_SHARE, _ERROR_SHARE_SLOW = 0.01, 0.08
_NIGHT_SHARE = 0.25
WORKDAY_LOAD = (1 + _NIGHT_SHARE) / 2
"""Of the busiest hour, on average over a working day."""
_WEEKEND_SHARE = 0.4
_DAYS_OF_WEEK, _WORKDAYS = 7, 5


@dataclass(frozen=True, slots=True)
class Slowdown:
    """From its start up to its end, this centre takes so many times as long."""

    centre: str
    start_ms: int
    end_ms: int
    factor: float


@dataclass(frozen=True, slots=True)
class Tenant:
    name: str
    group: str
    plan: str | None
    users: int
    centres: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Estate:
    """What is simulated. `events_per_second` holds at the busiest hour of a day; a day takes `day_ms`."""

    seed: int
    start_ms: int
    events_per_second: float
    tenants: int = 40
    groups: int = 4
    centres: int = 8
    day_ms: int = 600_000

    def topics(self) -> list[str]:
        return [operations_topic(product, f"g{group}") for product in PRODUCTS for group in range(self.groups)]

    def centre_names(self) -> list[str]:
        return [f"dc-{number:02}" for number in range(self.centres)]

    def tenancy(self) -> list[Tenant]:
        rng = Random(f"{self.seed}/tenants")
        return [self._tenant(rng, number) for number in range(self.tenants)]

    def plans(self) -> Iterator[Event]:
        """The table, as it grew: some tenants had another plan before, and some have none any more."""
        rng = Random(f"{self.seed}/plans")
        for tenant in self.tenancy():
            told = (rng.choice(PLANS), tenant.plan) if rng.random() < 0.3 or tenant.plan is None else (tenant.plan,)
            for plan in told:
                value = None if plan is None else json_text({"tenant": tenant.name, "plan": plan}).encode()
                yield Event(TENANT_PLANS, tenant.name, value, self.start_ms, self.start_ms)

    def slowdowns(self, day: int) -> list[Slowdown]:
        """One a day, in its second half; which centre, and how slow, the seed says."""
        rng = Random(f"{self.seed}/slowdown/{day}")
        start_ms = self.start_ms + day * self.day_ms + round(self.day_ms * rng.uniform(0.5, 0.7))
        length_ms = round(self.day_ms * rng.uniform(0.15, 0.25))
        centre = rng.choice(self.centre_names())
        return [Slowdown(centre, start_ms, start_ms + length_ms, rng.uniform(3.0, 6.0))]

    def events(self) -> Iterator[Event]:
        """Without end, in the order of their times; sent at once."""
        rng = Random(f"{self.seed}/operations")
        tenants = self.tenancy()
        weights = [tenant.weight for tenant in tenants]
        now_ms, end_of_day_ms, day = float(self.start_ms), self.start_ms, -1
        slow: list[Slowdown] = []
        while True:
            now_ms += rng.expovariate(self.events_per_second) * 1000
            while now_ms >= end_of_day_ms:
                day, end_of_day_ms = day + 1, end_of_day_ms + self.day_ms
                slow = self.slowdowns(day)
            if rng.random() < self._load(now_ms):
                yield self._operation(rng, rng.choices(tenants, weights)[0], int(now_ms), slow)

    def _tenant(self, rng: Random, number: int) -> Tenant:
        return Tenant(
            name=f"tenant-{number:03}",
            group=f"g{number % self.groups}",
            plan=None if number % 10 == 9 else rng.choice(PLANS),
            users=rng.randint(2, 30),
            centres=tuple(rng.sample(self.centre_names(), min(self.centres, rng.randint(1, 3)))),
            weight=1.0 / (1 + number) ** 0.7,
        )

    def _load(self, now_ms: float) -> float:
        """Between 0 and 1: nights and weekends are quiet. The first day is a Monday, and begins in the morning."""
        days = (now_ms - self.start_ms) / self.day_ms
        wave = (1 + math.sin(2 * math.pi * days)) / 2
        weekend = int(days) % _DAYS_OF_WEEK >= _WORKDAYS
        return (_NIGHT_SHARE + (1 - _NIGHT_SHARE) * wave) * (_WEEKEND_SHARE if weekend else 1.0)

    def _operation(self, rng: Random, tenant: Tenant, now_ms: int, slow: Sequence[Slowdown]) -> Event:
        product = rng.choice(PRODUCTS)
        operation = rng.choice(_OPERATIONS[product])
        centre = rng.choice(tenant.centres)
        median_us, sigma = _LATENCIES_US[operation]
        slowness = (each.factor for each in slow if each.centre == centre and each.start_ms <= now_ms < each.end_ms)
        factor = max(slowness, default=1.0)
        failed = rng.random() < (_ERROR_SHARE if factor == 1.0 else _ERROR_SHARE_SLOW)
        told = {
            "tenant": tenant.name,
            "centre": centre,
            "user": f"{tenant.name}/user-{rng.randrange(tenant.users):02}",
            "operation": operation,
            "status": "error" if failed else "ok",
            "latency_us": round(median_us * factor * rng.lognormvariate(0.0, sigma)),
            TIME: time_text(now_ms),
        }
        topic = operations_topic(product, tenant.group)
        return Event(topic, tenant.group, json_text(told).encode(), now_ms, now_ms)
