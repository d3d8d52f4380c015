"""Simulated events in topics, what jobs have made of them, and what the truth says."""

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from random import Random
from typing import Any, Protocol

from confluent_kafka import Producer

from odradek.pipelines import contract
from odradek.pipelines.contract import AnomalyRule, Windows
from odradek.pipelines.registry import job_named
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.tenants import Estate
from odradek.pipelines.simulation.trucks import Fleet
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.results import Fields
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_enriched, true_trends, true_users
from odradek.testing.broker import BrokerFailed
from support.committed_values import committed_pairs

_START_MS = 1_772_352_000_000
_MINUTE_MS = 60_000
_FLUSH_S = 60
_KEPT = {"retention.ms": "-1"}
"""Events are old: a broker would let them expire while a slow machine is still at work on them."""
_FAULTS = Faults(late=0.02, broken=0.04)

Rows = list[tuple[str, Fields]]


class Broker(Protocol):
    @property
    def bootstrap(self) -> str: ...

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None: ...


class JobStage:
    """Four trucks over ten hours, and one group of tenants over 14 minutes. Some drivers break the rule, some windows
    are anomalies, and some events come late or are broken."""

    def __init__(self, broker: Broker, seed: int) -> None:
        self._broker = broker
        self._estate = Estate(seed + 1, _START_MS, events_per_second=1, groups=1)
        fleet = Fleet(seed, 4, _START_MS, offender_every=2, interval_ms=_MINUTE_MS)
        self.trucks = _spoiled(fleet.events(), 600, seed)
        self.operations = _spoiled(self._estate.events(), 14, seed + 1)
        self.plans = list(self._estate.plans())

    def create_topics(self) -> None:
        """Of events, which are empty, and of plans, which has all that it will have."""
        self._broker.create_topic(contract.TRUCKS_GPS, 2, _KEPT)
        self._broker.create_topic(contract.TENANT_PLANS, 1, {"cleanup.policy": "compact"})
        for topic in self._estate.topics():
            self._broker.create_topic(topic, 1, _KEPT)
        self.produce(self.plans)

    def produce(self, events: Iterable[Event]) -> None:
        """Returns when all are acknowledged. Raises BrokerFailed where that takes too long."""
        producer = Producer({"bootstrap.servers": self._broker.bootstrap, "partitioner": "murmur2_random"})
        for event in events:
            producer.produce(event.topic, event.value, event.key, timestamp=event.sent_ms)
        if left := producer.flush(_FLUSH_S):
            raise BrokerFailed(f"{left} events were not acknowledged within {_FLUSH_S} s")

    def found(self, job: str) -> Any:
        """What it has written, in the form in which `expected` has it: a table where the job makes one."""
        pairs = committed_pairs(self._broker.bootstrap, job_named(job).result)
        return _FORMS.get(job, dict)([(key.decode(), json.loads(value)) for key, value in pairs])

    def expected(self, job: str) -> Any:
        """What it must have written of all events."""
        return _TRUTHS[job](self)


def _letters(rows: Rows) -> Counter[tuple[str, str, str, bytes]]:
    return Counter(
        (key, fields["reason"], fields["topic"], base64.b64decode(fields.get("value_base64", "")))
        for key, fields in rows
    )


def _true_letters(stage: JobStage) -> Counter[tuple[str, str, str, bytes]]:
    bad = [event for event in (*stage.trucks, *stage.operations) if event.reason is not None]
    return Counter((event.key, event.reason or "", event.topic, event.value or b"") for event in bad)


def _enriched(rows: Rows) -> Counter[tuple[tuple[str, object], ...]]:
    """At least once: what comes twice has the same place."""
    by_place = {(fields.pop("topic"), fields.pop("partition"), fields.pop("offset")): fields for _, fields in rows}
    return Counter(tuple(sorted(fields.items())) for fields in by_place.values())


def _alerts(rows: Rows) -> Rows:
    return sorted(rows, key=str)


_FORMS: dict[str, Callable[[Rows], Any]] = {
    "driver-alerts": _alerts,
    "operations-with-plan": _enriched,
    "dead-letters": _letters,
}
_TRUTHS: dict[str, Callable[[JobStage], Any]] = {
    "truck-positions": lambda stage: true_positions(stage.trucks),
    "driver-alerts": lambda stage: _alerts(true_alerts(stage.trucks)),
    "active-centres": lambda stage: true_centres(stage.operations, Windows()),
    "active-users": lambda stage: true_users(stage.operations, Windows()),
    "latency-trends": lambda stage: true_trends(stage.operations, Windows()),
    "latency-anomalies": lambda stage: true_anomalies(stage.operations, AnomalyRule()),
    "operations-with-plan": lambda stage: true_enriched(stage.operations, stage.plans),
    "dead-letters": _true_letters,
}


def _spoiled(events: Iterable[Event], minutes: int, seed: int) -> list[Event]:
    end_ms = _START_MS + minutes * _MINUTE_MS
    return list(_FAULTS.on(takewhile(lambda event: event.time_ms < end_ms, events), Random(seed)))
