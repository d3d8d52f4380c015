"""What the demo simulates: a fleet and tenants, from a seed, whose time runs faster than ours."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from odradek.client.topics import NewTopic
from odradek.pipelines.contract import TENANT_PLANS, TRUCKS_GPS, time_ms
from odradek.pipelines.registry import JOBS, TABLE
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.tenants import WORKDAY_LOAD, Estate
from odradek.pipelines.simulation.trucks import INTERVAL_MS, Fleet

SPEED = 60
"""A minute there is a second here."""
EVENTS_PER_SECOND = 500
EVENTS_PER_SECOND_LEAST = 10
LIVE_MS = time_ms("2026-03-02T08:00:00.000Z")
"""Where history ends. The same in every run, so that all events are; and long past, since brokers refuse timestamps
that are in the future: it would take days to get there."""

_MINUTE_MS = 60_000
# Who has driven for longer than the rule allows when the live part begins set out more than 270 minutes before; the
# others follow one by one. Tenants need the 20 minutes that a band is made of.
_FLEET_HISTORY_MS = 330 * _MINUTE_MS
_ESTATE_HISTORY_MS = 40 * _MINUTE_MS
_SETTING_OUT_MS = 300 * _MINUTE_MS
_DAY_MS = 120 * _MINUTE_MS
"""Each has a centre that slows down: so there is one every two minutes of ours."""
_OFFENDER_EVERY = 3
_TRUCKS_MAX = 100
_FLEET_SHARE = 0.36
_FAULTS = Faults(delayed=0.05, late=0.005, broken=0.005)
_GPS_PARTITIONS = 2
# Timestamps are long past: time must not decide what is deleted.
_EVENTS = {"retention.ms": "-1", "retention.bytes": str(256 << 20), "segment.bytes": str(64 << 20)}


@dataclass(frozen=True, slots=True)
class Scenario:
    """`events_per_second` are of our time, on average over a working day there."""

    events_per_second: int = EVENTS_PER_SECOND
    seed: int = 1

    @property
    def start_ms(self) -> int:
        """Where history begins."""
        return LIVE_MS - _FLEET_HISTORY_MS

    def fleet(self) -> Fleet:
        per_truck = SPEED * 1000 / INTERVAL_MS
        trucks = min(_TRUCKS_MAX, max(1, round(self.events_per_second * _FLEET_SHARE / per_truck)))
        return Fleet(self.seed, trucks, self.start_ms, offender_every=_OFFENDER_EVERY, spread_ms=_SETTING_OUT_MS)

    def estate(self) -> Estate:
        fleet = self.fleet()
        of_fleet = fleet.trucks * SPEED * 1000 / fleet.interval_ms
        busiest = (self.events_per_second - of_fleet) / SPEED / WORKDAY_LOAD
        return Estate(self.seed, LIVE_MS - _ESTATE_HISTORY_MS, busiest, day_ms=_DAY_MS)

    def events(self) -> Iterator[Event]:
        """Without end, in the order in which they are sent; what was sent before LIVE_MS is history."""
        trucks = _FAULTS.on(self.fleet().events(), Random(f"{self.seed}/faults/trucks"))
        operations = _FAULTS.on(self.estate().events(), Random(f"{self.seed}/faults/operations"))
        return heapq.merge(trucks, operations, key=lambda event: event.sent_ms)

    def first(self, number: int) -> list[Event]:
        return list(islice(self.events(), number))

    def plans(self) -> list[Event]:
        return list(self.estate().plans())

    def topics(self) -> list[NewTopic]:
        """Those of the events. A tenant group has a topic for each product, and one key: so one partition."""
        return [
            NewTopic(name=TRUCKS_GPS, partitions=_GPS_PARTITIONS, configs=_EVENTS),
            *(NewTopic(name=name, partitions=1, configs=_EVENTS) for name in self.estate().topics()),
            NewTopic(name=TENANT_PLANS, partitions=1, configs=TABLE),
        ]


def result_topics() -> list[NewTopic]:
    return [NewTopic(name=job.result, partitions=job.partitions, configs=job.configs) for job in JOBS.values()]
