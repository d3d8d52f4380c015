"""Trucks that drive from town to town and tell every twenty seconds where they are."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from odradek.pipelines.contract import EUROPEAN_RULE, TIME, TRUCKS_GPS, DrivingRule, json_text, time_text
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.roads import Country, Point, distance_km, draw_country

COUNTRY_SEED = "1/country"
INTERVAL_MS = 20_000
_HOUR_MS = 3_600_000
_LOADING_MS = (4 * 60_000, 12 * 60_000)
_BREAK_SHARE = (1.05, 1.4)
_KEPT_SHARE = (0.55, 0.9)
_BROKEN_SHARE = (1.08, 1.35)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is simulated. Every `offender_every`th driver drives on when a break is due.

    Trucks set out one after the other, evenly over `spread_ms`.
    """

    seed: int
    trucks: int
    start_ms: int
    rule: DrivingRule = EUROPEAN_RULE
    offender_every: int = 5
    interval_ms: int = INTERVAL_MS
    spread_ms: int = 0

    def country(self) -> Country:
        """The same for all seeds: there are maps of it."""
        return draw_country(Random(COUNTRY_SEED))

    def events(self) -> Iterator[Event]:
        """Without end, in the order of their times; sent at once."""
        country = self.country()
        return heapq.merge(*(self._positions(country, truck) for truck in range(self.trucks)), key=_by_time)

    def _positions(self, country: Country, truck: int) -> Iterator[Event]:
        rng = Random(f"{self.seed}/truck/{truck}")
        name, driver = f"truck-{truck:04}", f"driver-{truck:04}"
        offends = truck % self.offender_every == 0
        ride = _Ride(rng, country, self.rule, offends=offends)
        now_ms = self.start_ms + self.spread_ms * truck // self.trucks + rng.randrange(self.interval_ms)
        while True:
            place, speed_kmh = ride.advance(self.interval_ms)
            told = {
                "truck": name,
                "driver": driver,
                TIME: time_text(now_ms),
                "latitude": round(place.latitude, 5),
                "longitude": round(place.longitude, 5),
                "speed_kmh": round(speed_kmh, 1),
            }
            yield Event(TRUCKS_GPS, name, json_text(told).encode(), now_ms, now_ms)
            now_ms += self.interval_ms


def _by_time(event: Event) -> tuple[int, str]:
    return (event.time_ms, event.key)


class _Ride:
    """One truck under way: it drives, loads in towns, and stops for breaks."""

    def __init__(self, rng: Random, country: Country, rule: DrivingRule, *, offends: bool) -> None:
        self._rng, self._country, self._rule, self._offends = rng, country, rule, offends
        self._town = rng.randrange(len(country.towns))
        self._way = self._legs()
        self._from, self._to, self._speed_kmh = next(self._way)
        self._km = 0.0
        self._standing_ms = 0
        self._driving_ms = 0
        # The first break comes at a moment of its own, so that not all trucks stop together.
        self._break_due_ms = round(self._break_after() * (1.0 if offends else rng.uniform(0.3, 1.0)))

    def advance(self, elapsed_ms: int) -> tuple[Point, float]:
        """Where it is after that time, and how fast."""
        if self._standing_ms > 0:
            self._standing_ms -= elapsed_ms
            return self._place(), 0.0
        self._driving_ms += elapsed_ms
        if self._driving_ms >= self._break_due_ms:
            self._standing_ms = round(self._rule.break_ms * self._rng.uniform(*_BREAK_SHARE))
            self._driving_ms, self._break_due_ms = 0, self._break_after()
            return self._place(), 0.0
        speed_kmh = self._speed_kmh * self._rng.uniform(0.88, 1.04)
        self._drive(speed_kmh * elapsed_ms / _HOUR_MS)
        return self._place(), speed_kmh

    def _drive(self, km: float) -> None:
        self._km += km
        while self._km >= (leg_km := distance_km(self._from, self._to)):
            self._km -= leg_km
            leg = next(self._way, None)
            if leg is None:  # in a town: what is left of this step is lost in loading
                self._standing_ms = self._rng.randrange(*_LOADING_MS)
                self._km = 0.0
                self._way = self._legs()
                leg = next(self._way)
            self._from, self._to, self._speed_kmh = leg

    def _legs(self) -> Iterator[tuple[Point, Point, float]]:
        others = [town for town in range(len(self._country.towns)) if town != self._town]
        goal = self._rng.choice(others)
        roads = self._country.route(self._town, goal)
        self._town = goal
        for road in roads:
            for start, end in zip(road.points, road.points[1:], strict=False):
                yield start, end, road.speed_kmh

    def _place(self) -> Point:
        leg_km = distance_km(self._from, self._to)
        share = self._km / leg_km if leg_km else 0.0
        return Point(
            self._from.latitude + share * (self._to.latitude - self._from.latitude),
            self._from.longitude + share * (self._to.longitude - self._from.longitude),
        )

    def _break_after(self) -> int:
        return round(self._rule.limit_ms * self._rng.uniform(*(_BROKEN_SHARE if self._offends else _KEPT_SHARE)))
