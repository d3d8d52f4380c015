"""All jobs as streams, in several batches and with a restart between: the topics say what the truth says."""

import base64
import json
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from random import Random
from threading import Event as Signal
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from odradek.pipelines import contract
from odradek.pipelines.contract import AnomalyRule, Windows
from odradek.pipelines.registry import JOBS
from odradek.pipelines.runner import Setting, run_all
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.tenants import Estate
from odradek.pipelines.simulation.trucks import Fleet
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_enriched, true_trends, true_users
from odradek.testing import RunningBroker
from odradek.testing.committed_values import committed_pairs

START_MS = 1_772_352_000_000
MINUTE_MS = 60_000
ESTATE = Estate(31, START_MS, events_per_second=1, groups=1)
FLEET = Fleet(30, 4, START_MS, offender_every=2, interval_ms=MINUTE_MS)
FAULTS = Faults(late=0.02, broken=0.04)


def until(events: Iterable[Event], minutes: int) -> list[Event]:
    end_ms = START_MS + minutes * MINUTE_MS
    return list(takewhile(lambda event: event.time_ms < end_ms, events))


def produce(broker: RunningBroker, events: Iterable[Event]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2_random"})
    for event in events:
        producer.produce(event.topic, event.value, event.key, timestamp=event.sent_ms)
    assert producer.flush(60) == 0


def halves(events: list[Event]) -> tuple[list[Event], list[Event]]:
    middle = len(events) // 2
    return events[:middle], events[middle:]


class Results:
    def __init__(self, broker: RunningBroker) -> None:
        self._bootstrap = broker.bootstrap

    def of(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        pairs = committed_pairs(self._bootstrap, topic)
        return [(key.decode(), json.loads(value)) for key, value in pairs]

    def table(self, topic: str) -> dict[str, dict[str, Any]]:
        return dict(self.of(topic))


def test_all_jobs_with_a_restart(spark: SparkSession, odradek_broker: RunningBroker, tmp_path: Path) -> None:
    broker = odradek_broker
    broker.create_topic(contract.TRUCKS_GPS, 2)
    broker.create_topic(contract.TENANT_PLANS, 1, {"cleanup.policy": "compact"})
    for topic in ESTATE.topics():
        broker.create_topic(topic)
    plans = list(ESTATE.plans())
    trucks = list(FAULTS.on(until(FLEET.events(), 600), Random(30)))
    operations = list(FAULTS.on(until(ESTATE.events(), 14), Random(31)))
    produce(broker, plans)
    # Spark gives a Python process ten seconds to start: on a busy machine some of so many jobs need more than one try.
    setting = Setting(broker.bootstrap, str(tmp_path), once=True, events_per_batch=len(trucks) // 3, starts_max=100)
    for events in zip(halves(trucks), halves(operations), strict=True):
        for part in events:
            produce(broker, part)
        run_all(spark, list(JOBS.values()), setting, Signal())

    results = Results(broker)
    assert results.table(contract.TRUCK_POSITIONS) == true_positions(trucks)
    alerts = true_alerts(trucks)
    assert len(alerts) >= 2
    assert sorted(results.of(contract.DRIVER_ALERTS), key=str) == sorted(alerts, key=str)
    assert results.table(contract.ACTIVE_CENTRES) == true_centres(operations, Windows())
    assert results.table(contract.ACTIVE_USERS) == true_users(operations, Windows())
    assert results.table(contract.LATENCY_TRENDS) == true_trends(operations, Windows())
    anomalies = true_anomalies(operations, AnomalyRule())
    assert any(fields["anomaly"] for fields in anomalies.values())
    assert results.table(contract.LATENCY_ANOMALIES) == anomalies
    check_enriched(results.of(contract.OPERATIONS_WITH_PLAN), operations, plans)
    check_dead_letters(results.of(contract.DEAD_LETTERS), [*trucks, *operations])


def check_enriched(rows: list[tuple[str, dict[str, Any]]], operations: list[Event], plans: list[Event]) -> None:
    """At least once: what comes twice has the same place."""
    by_place = {(fields.pop("topic"), fields.pop("partition"), fields.pop("offset")): fields for _, fields in rows}
    found = Counter(tuple(sorted(fields.items())) for fields in by_place.values())
    assert found == true_enriched(operations, plans)


def check_dead_letters(rows: list[tuple[str, dict[str, Any]]], events: list[Event]) -> None:
    found = Counter(
        (key, fields["reason"], fields["topic"], base64.b64decode(fields.get("value_base64", "")))
        for key, fields in rows
    )
    assert found == Counter(
        (event.key, event.reason, event.topic, event.value or b"") for event in events if event.reason is not None
    )
    places = {(fields["topic"], fields["partition"], fields["offset"]) for _, fields in rows}
    assert len(places) == len(rows)
