"""Jobs about trucks: where each is, and whose driver needs a break."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from odradek.pipelines.contract import EUROPEAN_RULE, MOVING_KMH, POSITION, TIME, DrivingRule
from odradek.pipelines.driving import Span, joined, recent, tell
from odradek.pipelines.judging import accepted, result, time_text

_SHARES = 64
"""Drivers are kept in so many shares, each with one state. Python asks Java for every state: a state for each driver
would take longer than all the rest. It is part of what a checkpoint keeps, and must not change."""


def latest_positions(records: DataFrame) -> DataFrame:
    """The latest position of every truck, by the time of the event."""
    position = f.struct("truck", "driver", TIME, "latitude", "longitude", "speed_kmh")
    newest = f.max_by(position, f.struct(TIME, "partition", "offset")).alias("newest")
    latest = accepted(records, POSITION).groupBy("truck").agg(newest).select("newest.*")
    at = time_text(f.col(TIME)).alias(TIME)
    columns = map(f.col, ("latitude", "longitude", "speed_kmh"))
    return latest.select(*result(f.col("truck"), f.col("truck"), f.col("driver"), at, *columns))


def driving_alerts(records: DataFrame, rule: DrivingRule = EUROPEAN_RULE) -> DataFrame:
    """One for each time in which a driver drives longer than the rule allows without a break, as soon as it is so."""
    driven = accepted(records, POSITION).where(f.col("speed_kmh") >= MOVING_KMH)
    share = f.pmod(f.xxhash64("driver"), f.lit(_SHARES)).alias("share")
    moments = driven.select(share, "driver", "truck", f.unix_millis(TIME).alias("at_ms"))
    alerts = moments.groupBy("share").transformWithStateInPandas(
        _Driving(rule), "driver string, truck string, since_ms long", "Update", "None"
    )
    since = time_text(f.timestamp_millis("since_ms")).alias("since")
    exceeded = time_text(f.timestamp_millis(f.col("since_ms") + rule.limit_ms)).alias("exceeded")
    limit = f.lit(rule.limit_ms // 60_000).alias("limit_minutes")
    return alerts.select(*result(f.col("driver"), f.col("driver"), f.col("truck"), since, exceeded, limit))


class _Driving(StatefulProcessor):
    """Keeps the spans of driving of each driver of a share, as `driving` has them: as JSON, by driver."""

    def __init__(self, rule: DrivingRule) -> None:
        self._rule = rule

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._drivers = handle.getValueState("drivers", "spans string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        state = self._drivers.get()
        drivers = json.loads(state[0]) if state is not None else {}
        alerts = []
        for driver, moments in _by_driver(rows).items():
            before = [Span(*span) for span in drivers.get(driver, ())]
            spans, news = tell(joined([*before, *moments], self._rule), self._rule)
            drivers[driver] = [astuple(span) for span in recent(spans, self._rule)]
            alerts += [(driver, span.truck, span.start_ms) for span in news]
        self._drivers.update((json.dumps(drivers, separators=(",", ":")),))
        yield pd.DataFrame(alerts, columns=("driver", "truck", "since_ms"))


def _by_driver(frames: Iterator[Any]) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = defaultdict(list)
    for frame in frames:
        for driver, truck, at_ms in zip(frame["driver"], frame["truck"], frame["at_ms"].tolist(), strict=True):
            found[driver].append(Span(at_ms, at_ms, truck))
    return found
