"""Events and what the jobs make of them, written to a broker minute by minute, with no Spark.

The results are the truth of the simulated events, so a page that reads them can be tried without the jobs.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from random import Random

from confluent_kafka import Producer

from odradek.pipelines import contract
from odradek.pipelines.contract import AnomalyRule, DrivingRule, Windows, json_text, time_ms, time_text
from odradek.pipelines.registry import JOBS
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.tenants import Estate
from odradek.pipelines.simulation.trucks import Fleet
from odradek.pipelines.truth.fleet import true_alerts
from odradek.pipelines.truth.results import Table
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_trends, true_users
from odradek.testing.broker import RunningBroker

START_MS = 1_772_352_000_000
MINUTE_MS = 60_000
_RULE = DrivingRule(limit_ms=40 * MINUTE_MS, break_ms=10 * MINUTE_MS)
_RESULTS = (*(job.result for job in JOBS.values()), contract.TRUCKS_GPS, "pipeline_progress")
_DELIVERED_S = 60

Record = tuple[str, str, bytes | None, int]
"""Topic, key, value, timestamp."""


class ResultStage:
    """`advance` writes all that there is to say up to a minute later."""

    def __init__(self, broker: RunningBroker, minutes: int, trucks: int = 100, seed: int = 5) -> None:
        """Nothing happens after so many minutes."""
        self._broker = broker
        self._rng = Random(f"{seed}/stage")
        end_ms = START_MS + minutes * MINUTE_MS
        fleet = _until(
            Fleet(seed, trucks, START_MS, _RULE, offender_every=8, spread_ms=45 * MINUTE_MS).events(), end_ms
        )
        estate = Estate(seed, START_MS, events_per_second=6, day_ms=30 * MINUTE_MS)
        operations = _until(estate.events(), end_ms)
        faults = Faults(late=0.002, broken=0.004)
        self._events = list(faults.on(sorted([*fleet, *operations], key=lambda event: event.time_ms), self._rng))
        self._alerts = true_alerts(self._events, _RULE)
        self._records = iter(sorted(self._all_records(), key=lambda record: record[3]))
        self._ahead: Record | None = next(self._records, None)
        self.minute = 0.0
        """How far it is."""
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50})

    def next_alert(self) -> tuple[float, str]:
        """In how many minutes it comes, and for which driver."""
        now_ms = START_MS + round(self.minute * MINUTE_MS)
        ahead = [(time_ms(fields["exceeded"]), driver) for driver, fields in self._alerts]
        at_ms, driver = min(each for each in ahead if each[0] > now_ms)
        return (at_ms - now_ms) / MINUTE_MS, driver

    def create_topics(self, *names: str) -> None:
        """All of them, where none is named."""
        for name in names or _RESULTS:
            self._broker.create_topic(name, partitions=2, configs={"retention.ms": "-1"})

    def advance(self, minutes: float) -> None:
        """Returns when the broker has all of it."""
        self.minute += minutes
        now_ms = START_MS + round(self.minute * MINUTE_MS)
        written = 0
        while self._ahead is not None and self._ahead[3] <= now_ms:
            self._send(self._ahead)
            written += 1
            self._ahead = next(self._records, None)
        for record in self._progress(now_ms, written):
            self._send(record)
        if self._producer.flush(_DELIVERED_S):
            raise TimeoutError("the broker does not take what was written")

    def _send(self, record: Record) -> None:
        topic, key, value, at_ms = record
        self._producer.produce(topic, value, key, timestamp=at_ms)
        self._producer.poll(0)

    def _all_records(self) -> Iterator[Record]:
        positions = [event for event in self._events if event.topic == contract.TRUCKS_GPS]
        for event in positions:
            yield event.topic, event.key, event.value, event.sent_ms
            if event.reason is None:
                yield contract.TRUCK_POSITIONS, event.key, event.value, event.sent_ms
        for driver, fields in self._alerts:
            yield contract.DRIVER_ALERTS, driver, json_text(fields).encode(), time_ms(fields["exceeded"])
        for number, event in enumerate(self._events):
            if event.reason is not None:
                letter = {"reason": event.reason, "topic": event.topic, "partition": 0, "offset": number}
                yield contract.DEAD_LETTERS, event.key, json_text(letter).encode(), event.sent_ms
        windows = Windows()
        yield from _rows(contract.ACTIVE_CENTRES, true_centres(self._events, windows))
        yield from _rows(contract.ACTIVE_USERS, true_users(self._events, windows))
        yield from _rows(contract.LATENCY_TRENDS, true_trends(self._events, windows))
        yield from _rows(contract.LATENCY_ANOMALIES, true_anomalies(self._events, AnomalyRule()))

    def _progress(self, now_ms: int, rows: int) -> Iterator[Record]:
        for number, job in enumerate(JOBS):
            took_ms = 600 + 90 * number + self._rng.randrange(300)
            told = {
                "job": job,
                "state": "running",
                "batch": (now_ms - START_MS) // 2_000,
                "rows": rows,
                "rows_per_second": round(rows * 1000 / took_ms, 1),
                "batch_ms": took_ms,
                "lag": self._rng.randrange(60),
                "time": time_text(now_ms),
            }
            yield "pipeline_progress", job, json.dumps(told).encode(), now_ms


def _rows(topic: str, table: Table) -> Iterator[Record]:
    """A row is written when its window has begun."""
    for key, fields in table.items():
        yield topic, key, json_text(fields).encode(), time_ms(fields["window_start"])


def _until(events: Iterable[Event], end_ms: int) -> list[Event]:
    return list(takewhile(lambda event: event.time_ms < end_ms, islice(events, 10_000_000)))
