"""Simulated events: the same for the same seed, and of the form that the contract asks for."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise, takewhile
from random import Random

from odradek.pipelines.contract import (
    FUTURE_MS,
    LATE_MS,
    OPERATION,
    OPERATIONS_PATTERN,
    OPERATIONS_WITH_PLAN,
    POSITION,
    TIME,
    TRUCKS_GPS,
    Form,
    Reason,
    time_ms,
)
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.roads import Point, distance_km
from odradek.pipelines.simulation.tenants import Estate
from odradek.pipelines.simulation.trucks import Fleet

START_MS = 1_772_352_000_000  # 2026-03-01T08:00:00Z
HOUR_MS = 3_600_000


def until(events: Iterator[Event], end_ms: int) -> list[Event]:
    return list(takewhile(lambda event: event.time_ms < end_ms, events))


def told(event: Event) -> dict[str, object]:
    assert event.value is not None
    fields = json.loads(event.value)
    assert isinstance(fields, dict)
    return fields


def assert_of_form(events: Iterable[Event], form: Form) -> None:
    for event in events:
        fields = told(event)
        assert fields.keys() == {TIME, *(field.name for field in form.fields)}
        assert time_ms(str(fields[TIME])) == event.time_ms
        for field in form.fields:
            value = fields[field.name]
            assert isinstance(value, field.type)
            if field.least is not None and field.most is not None:
                assert isinstance(value, (int, float))
                assert field.least <= value <= field.most


def test_the_same_seed_gives_the_same_events_and_another_one_others() -> None:
    first, again, other = (list(islice(Fleet(seed, 5, START_MS).events(), 500)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    first, again, other = (list(islice(Estate(seed, START_MS, 50).events(), 500)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_trucks_tell_every_twenty_seconds_and_move_as_fast_as_they_say() -> None:
    events = until(Fleet(3, 4, START_MS).events(), START_MS + HOUR_MS)
    assert_of_form(events, POSITION)
    assert {event.topic for event in events} == {TRUCKS_GPS}
    assert [event.time_ms for event in events] == sorted(event.time_ms for event in events)
    for truck in {event.key for event in events}:
        mine = [(event.time_ms, told(event)) for event in events if event.key == truck]
        assert {after - before for (before, _), (after, _) in pairwise(mine)} == {20_000}
        for (_, before), (_, after) in pairwise(mine):
            km = distance_km(place(before), place(after))
            assert km <= float(str(after["speed_kmh"])) * 20 / 3600 + 0.01


def place(fields: dict[str, object]) -> Point:
    return Point(float(str(fields["latitude"])), float(str(fields["longitude"])))


def test_operations_go_to_the_topic_of_their_product_and_group() -> None:
    estate = Estate(4, START_MS, 40)
    events = until(estate.events(), START_MS + 120_000)
    assert_of_form(events, OPERATION)
    assert {event.topic for event in events} == set(estate.topics())
    assert all(re.fullmatch(OPERATIONS_PATTERN, event.topic) for event in events)
    assert re.fullmatch(OPERATIONS_PATTERN, OPERATIONS_WITH_PLAN) is None
    groups = {tenant.name: tenant.group for tenant in estate.tenancy()}
    assert all(event.key == groups[str(told(event)["tenant"])] for event in events)


def test_nights_are_quiet_and_a_slow_centre_is_slow() -> None:
    estate = Estate(5, START_MS, 40, centres=2)
    events = until(estate.events(), START_MS + estate.day_ms)
    halves = Counter((event.time_ms - START_MS) * 2 // estate.day_ms for event in events)
    assert halves[0] > 1.5 * halves[1]
    (slow,) = estate.slowdowns(0)
    inside: list[int] = []
    outside: list[int] = []
    for event in events:
        fields = told(event)
        if fields["centre"] == slow.centre:
            now = slow.start_ms <= event.time_ms < slow.end_ms
            (inside if now else outside).append(int(str(fields["latency_us"])))
    assert sum(inside) / len(inside) > 2 * sum(outside) / len(outside)


def test_faults_are_what_they_say() -> None:
    estate = Estate(6, START_MS, 40)
    good = until(estate.events(), START_MS + 300_000)
    sent = list(Faults(delayed=0.1, late=0.05, broken=0.2).on(good, Random(6)))
    assert len(sent) == len(good)
    assert [event.sent_ms for event in sent] == sorted(event.sent_ms for event in sent)
    reasons = Counter(event.reason and event.reason.partition(":")[0] for event in sent)
    every = {Reason.EMPTY, Reason.NOT_JSON, Reason.MISSING, Reason.WRONG_TYPE, Reason.BAD_TIME, Reason.OUT_OF_RANGE}
    assert reasons.keys() == {None, Reason.LATE, Reason.FUTURE, *every}
    for event in sent:
        if event.reason in (None, Reason.LATE, Reason.FUTURE):
            behind_ms = event.sent_ms - time_ms(str(told(event)[TIME]))
            assert (event.reason == Reason.LATE) == (behind_ms > LATE_MS)
            assert (event.reason == Reason.FUTURE) == (behind_ms < -FUTURE_MS)
    times = [event.time_ms for event in sent if event.reason is None]
    assert times != sorted(times)  # some came out of order


def test_cut_off_values_are_no_json() -> None:
    events = islice(Fleet(8, 3, START_MS).events(), 600)
    for event in Faults(broken=1.0).on(events, Random(8)):
        if event.reason != Reason.NOT_JSON:
            continue
        assert event.value is not None
        try:
            json.loads(event.value)
        except ValueError:
            continue
        raise AssertionError(event.value)


def test_tenants_have_plans_and_some_lost_theirs() -> None:
    estate = Estate(9, START_MS, 1)
    latest = {event.key: event.value for event in estate.plans()}
    for tenant in estate.tenancy():
        value = latest[tenant.name]
        assert (value is None) == (tenant.plan is None)
        if value is not None:
            assert json.loads(value) == {"tenant": tenant.name, "plan": tenant.plan}
    assert None in latest.values()
    assert len(list(estate.plans())) > len(latest)
