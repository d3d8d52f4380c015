"""The truth of cases that are small enough to be worked out by hand, and of drivers who break the rule."""

from itertools import takewhile
from random import Random

import pytest

from odradek.pipelines.contract import (
    TIME,
    TRUCKS_GPS,
    AnomalyRule,
    DrivingRule,
    Reason,
    Windows,
    json_text,
    operations_topic,
    time_text,
)
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.trucks import Fleet
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_trends, true_users

START_MS = 1_772_352_000_000
MINUTE_MS = 60_000


def position(minute: float, speed_kmh: float = 60.0, reason: str | None = None) -> Event:
    at = START_MS + round(minute * MINUTE_MS)
    fields = {"truck": "t", "driver": "d", TIME: time_text(at), "latitude": 50.0, "longitude": 9.0}
    return Event(TRUCKS_GPS, "t", json_text({**fields, "speed_kmh": speed_kmh}).encode(), at, at, reason)


def operation(minute: float, latency_us: int, user: str = "u", status: str = "ok") -> Event:
    at = START_MS + round(minute * MINUTE_MS)
    fields = {"tenant": "t", "centre": "c", "user": user, "operation": "o", "status": status, "latency_us": latency_us}
    value = json_text({**fields, TIME: time_text(at)}).encode()
    return Event(operations_topic("compute", "g0"), "g0", value, at, at)


def test_the_latest_position_is_the_latest_by_its_own_time() -> None:
    events = [position(3), position(1), position(9, reason=Reason.LATE)]
    assert true_positions(events)["t"][TIME] == time_text(START_MS + 3 * MINUTE_MS)


@pytest.mark.parametrize(
    ("minutes", "since"),
    [
        (range(11), None),  # ten minutes are allowed
        (range(12), 0),
        ([*range(8), *range(12, 20)], None),  # a break of five minutes between
        ([*range(8), *range(11, 20)], 0),  # of four: none
        ([*range(3), *range(7, 30)], 7),
    ],
)
def test_who_drives_too_long(minutes: list[int], since: int | None) -> None:
    rule = DrivingRule(limit_ms=10 * MINUTE_MS, break_ms=5 * MINUTE_MS)
    found = [fields["since"] for _, fields in true_alerts([position(minute) for minute in minutes], rule)]
    assert found == ([] if since is None else [time_text(START_MS + since * MINUTE_MS)])


def test_offenders_are_told_and_nobody_else() -> None:
    rule = DrivingRule(limit_ms=60 * MINUTE_MS, break_ms=15 * MINUTE_MS)
    fleet = Fleet(11, 10, START_MS, rule, offender_every=5)
    end_ms = START_MS + 4 * 60 * MINUTE_MS
    events = takewhile(lambda event: event.time_ms < end_ms, fleet.events())
    alerts = true_alerts(list(Faults(late=0.02).on(events, Random(11))), rule)
    assert {driver for driver, _ in alerts} == {"driver-0000", "driver-0005"}
    assert len(alerts) >= 4


def test_windows_slide() -> None:
    windows = Windows(active_ms=2 * MINUTE_MS, active_slide_ms=MINUTE_MS)
    events = [operation(0.5, 1, "a"), operation(0.6, 1, "a"), operation(1.5, 1, "b")]
    users = [fields["users"] for _, fields in sorted(true_users(events, windows).items())]
    assert users == [1, 2, 1]
    assert [fields["events"] for _, fields in sorted(true_centres(events, windows).items())] == [2, 3, 1]


def test_quantiles_are_latencies_that_were_seen() -> None:
    events = [operation(0.1, latency, status="error" if latency == 7 else "ok") for latency in range(1, 101)]
    ((key, fields),) = true_trends(events, Windows()).items()
    assert key == "2026-03-01T08:00:00.000Z|c"
    assert (fields["p50_us"], fields["p95_us"], fields["p99_us"]) == (50, 95, 99)
    assert (fields["events"], fields["errors"], fields["per_second"]) == (100, 1, 100 / 60)


def test_a_jump_is_an_anomaly_and_too_short_a_history_tells_nothing() -> None:
    latencies = [100, 110, 90, 100, 105, 95, 400]
    events = [operation(minute, latency) for minute, latency in enumerate(latencies)]
    table = [fields for _, fields in sorted(true_anomalies(events, AnomalyRule()).items())]
    assert [fields["anomaly"] for fields in table] == [False] * 6 + [True]
    assert "average_us" not in table[4]
    assert (table[6]["average_us"], table[6]["deviation_us"], table[6]["high_us"]) == (100, 6, 124)
