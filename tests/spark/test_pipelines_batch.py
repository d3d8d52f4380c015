"""Every job on a batch of simulated events gives what the truth says."""

import base64
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice, takewhile
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from odradek.pipelines.activity import active_centres, active_users
from odradek.pipelines.contract import LETTER_BYTES_MAX, TEXT_BYTES_MAX, AnomalyRule, DrivingRule, Windows
from odradek.pipelines.fleet import driving_alerts, latest_positions
from odradek.pipelines.judging import NotUtc
from odradek.pipelines.latency import latency_anomalies, latency_trends
from odradek.pipelines.plans import operations_with_plan
from odradek.pipelines.queries import prepared
from odradek.pipelines.rejects import dead_letters
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.tenants import Estate
from odradek.pipelines.simulation.trucks import Fleet
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_enriched, true_trends, true_users
from odradek.spark.tables import latest_rows

START_MS = 1_772_352_000_000
MINUTE_MS = 60_000
RULE = DrivingRule(limit_ms=60 * MINUTE_MS, break_ms=15 * MINUTE_MS)
ESTATE = Estate(21, START_MS, events_per_second=2)
FAULTS = Faults(late=0.02, broken=0.05)
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"


def until(events: Any, minutes: int) -> list[Event]:
    end_ms = START_MS + minutes * MINUTE_MS
    return list(takewhile(lambda event: event.time_ms < end_ms, events))


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return prepared(spark)


@pytest.fixture(scope="module")
def trucks() -> list[Event]:
    made = until(Fleet(20, 4, START_MS, RULE, offender_every=2).events(), 180)
    return list(FAULTS.on(made, Random(20)))


@pytest.fixture(scope="module")
def operations() -> list[Event]:
    return list(FAULTS.on(until(ESTATE.events(), 15), Random(21)))


def records(session: SparkSession, events: list[Event]) -> DataFrame:
    """In an order that says nothing."""
    rows = [
        (
            event.key.encode(),
            event.value,
            event.topic,
            0,
            offset,
            datetime.fromtimestamp(event.sent_ms / 1000, UTC),
        )
        for offset, event in enumerate(events)
    ]
    Random(0).shuffle(rows)
    return session.createDataFrame(rows, SCHEMA).repartition(2)


def found(rows: DataFrame) -> list[tuple[Any, dict[str, Any]]]:
    def text(key: str | bytes | bytearray | None) -> str | None:
        return key if key is None or isinstance(key, str) else bytes(key).decode()

    return sorted(((text(row.key), json.loads(row.value)) for row in rows.collect()), key=str)


def table(rows: DataFrame) -> dict[str, dict[str, Any]]:
    pairs = found(rows)
    made = dict(pairs)
    assert len(made) == len(pairs)
    return made


def test_positions(session: SparkSession, trucks: list[Event]) -> None:
    expected = true_positions(trucks)
    assert len(expected) == 4
    assert table(latest_positions(records(session, trucks))) == expected


def test_alerts(session: SparkSession, trucks: list[Event]) -> None:
    expected = true_alerts(trucks, RULE)
    assert len(expected) >= 2
    assert found(driving_alerts(records(session, trucks), RULE)) == sorted(expected, key=str)


def test_activity(session: SparkSession, operations: list[Event]) -> None:
    rows = records(session, operations).cache()
    assert table(active_centres(rows)) == true_centres(operations, Windows())
    assert table(active_users(rows)) == true_users(operations, Windows())


def test_latencies(session: SparkSession, operations: list[Event]) -> None:
    rows = records(session, operations).cache()
    assert table(latency_trends(rows)) == true_trends(operations, Windows())
    rule = AnomalyRule()
    expected = true_anomalies(operations, rule)
    assert any(fields["anomaly"] for fields in expected.values())
    assert table(latency_anomalies(rows, rule)) == expected


def test_plans(session: SparkSession, operations: list[Event]) -> None:
    plans = list(ESTATE.plans())
    rows = found(operations_with_plan(records(session, operations), latest_rows(records(session, plans))))
    places = [(fields.pop("topic"), fields.pop("partition"), fields.pop("offset")) for _, fields in rows]
    assert len(set(places)) == len(places)
    assert Counter(tuple(sorted(fields.items())) for _, fields in rows) == true_enriched(operations, plans)


def test_dead_letters(session: SparkSession, trucks: list[Event], operations: list[Event]) -> None:
    events = list(islice(chain(operations, trucks), 3_000))
    expected = {offset: event for offset, event in enumerate(events) if event.reason is not None}
    rows = found(dead_letters(records(session, events)))
    assert len(rows) == len(expected)
    for key, fields in rows:
        event = expected[fields["offset"]]
        assert (fields["reason"], fields["topic"], fields["partition"]) == (event.reason, event.topic, 0), event
        assert key == event.key
        assert base64.b64decode(fields.get("value_base64", ""), validate=True) == (event.value or b"")


def test_events_of_any_size_make_results_of_a_bounded_one(session: SparkSession, trucks: list[Event]) -> None:
    good = next(event for event in trucks if event.reason is None)
    fields = json.loads(good.value or b"")
    long = "x" * (TEXT_BYTES_MAX + 1)
    events = [
        good,
        replace(good, value=json.dumps({**fields, "driver": long[1:]}).encode()),
        replace(good, value=json.dumps({**fields, "driver": long}).encode()),
        replace(good, key=long),
        replace(good, value=b"x" * LETTER_BYTES_MAX, key="y" * LETTER_BYTES_MAX),
        replace(good, value=b"x" * (LETTER_BYTES_MAX + 1), key="y" * (LETTER_BYTES_MAX + 1)),
    ]
    rows = {fields["offset"]: (key, fields) for key, fields in found(dead_letters(records(session, events)))}
    assert {offset: fields["reason"] for offset, (_, fields) in rows.items()} == {
        2: "out_of_range:driver",
        3: "out_of_range:key",
        4: "not_json",
        5: "not_json",
    }
    assert rows[4][0] == "y" * LETTER_BYTES_MAX
    assert rows[5][0] is None
    assert "value_bytes" not in rows[4][1]
    assert rows[5][1]["value_bytes"] == LETTER_BYTES_MAX + 1
    assert rows[5][1]["value_base64"] == rows[4][1]["value_base64"]
    assert list(table(latest_positions(records(session, events)))) == [good.key]


def test_a_session_in_another_zone_is_refused(session: SparkSession, trucks: list[Event]) -> None:
    elsewhere = session.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    with pytest.raises(NotUtc, match="timeZone is Asia/Kolkata; set it to UTC"):
        latest_positions(records(elsewhere, trucks[:1]))
