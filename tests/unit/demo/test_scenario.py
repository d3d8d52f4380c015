"""What the demo simulates: always the same, at the rate that was asked for, with something to see from the start."""

from itertools import takewhile

import pytest

from odradek.demo.scenario import LIVE_MS, SPEED, Scenario
from odradek.pipelines.contract import TRUCKS_GPS
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.truth.fleet import true_alerts

DAY_S = 120
HOUR_MS = 3_600_000


def until(scenario: Scenario, end_ms: int) -> list[Event]:
    return list(takewhile(lambda event: event.sent_ms < end_ms, scenario.events()))


def test_the_first_events_are_the_same_however_many_are_taken() -> None:
    scenario = Scenario(40)
    events = scenario.first(3_000)
    assert scenario.first(500) == events[:500]
    assert [event.sent_ms for event in events] == sorted(event.sent_ms for event in events)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [10, 100])
def test_the_load_is_what_was_asked_for_on_average_over_a_day(asked: int) -> None:
    scenario = Scenario(asked)
    day_ms = scenario.estate().day_ms
    assert day_ms == DAY_S * SPEED * 1000
    start_ms = scenario.estate().start_ms + day_ms  # the first whole day that is live
    events = [event for event in until(scenario, start_ms + day_ms) if event.sent_ms >= start_ms]
    assert len(events) / DAY_S == pytest.approx(asked, rel=0.1)


def test_trucks_follow_the_load_up_to_a_number_that_a_map_can_show() -> None:
    assert [Scenario(asked).fleet().trucks for asked in (10, 500, 5_000, 100_000)] == [1, 60, 100, 100]


@pytest.mark.slow
def test_alerts_are_there_from_the_start_and_more_follow() -> None:
    scenario = Scenario(200)
    events = until(scenario, LIVE_MS + HOUR_MS)
    history = [event for event in events if event.sent_ms < LIVE_MS]
    assert len({event.key for event in history if event.topic == TRUCKS_GPS}) == scenario.fleet().trucks
    assert 1 <= len(true_alerts(history)) < len(true_alerts(events))


def test_history_of_tenants_is_long_enough_for_a_band() -> None:
    operations = [event for event in until(Scenario(20), LIVE_MS) if event.topic != TRUCKS_GPS]
    assert LIVE_MS - operations[0].sent_ms > 20 * 60_000


def test_topics_of_events_do_not_lose_what_is_long_past() -> None:
    topics = {topic.name: topic for topic in Scenario().topics()}
    assert set(topics) == {TRUCKS_GPS, "tenant_plans", *Scenario().estate().topics()}
    assert all(topic.configs["retention.ms"] == "-1" for name, topic in topics.items() if name != "tenant_plans")
    assert {event.topic for event in Scenario().first(5_000)} <= set(topics)
