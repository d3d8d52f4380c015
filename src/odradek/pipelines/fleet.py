"""Jobs about trucks: where each is, and whose driver needs a break."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from odradek.pipelines.contract import EUROPEAN_RULE, MOVING_KMH, POSITION, TIME, DrivingRule
from odradek.pipelines.driving import Span, joined, recent, tell
from odradek.pipelines.judging import accepted, result, time_text

_SPANS = "spans array<struct<start_ms: long, end_ms: long, truck: string, told: boolean>>"


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
    moments = driven.select("driver", "truck", f.unix_millis(TIME).alias("at_ms"))
    alerts = moments.groupBy("driver").transformWithState(
        _Driving(rule), "driver string, truck string, since_ms long", "Update", "None"
    )
    since = time_text(f.timestamp_millis("since_ms")).alias("since")
    exceeded = time_text(f.timestamp_millis(f.col("since_ms") + rule.limit_ms)).alias("exceeded")
    limit = f.lit(rule.limit_ms // 60_000).alias("limit_minutes")
    return alerts.select(*result(f.col("driver"), f.col("driver"), f.col("truck"), since, exceeded, limit))


class _Driving(StatefulProcessor):
    """Keeps the spans of driving of each driver, as `driving` has them."""

    def __init__(self, rule: DrivingRule) -> None:
        self._rule = rule

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._spans = handle.getValueState("spans", _SPANS)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        state = self._spans.get()
        before = [Span(*span) for span in state[0]] if state is not None else []
        moments = (Span(row.at_ms, row.at_ms, row.truck) for row in rows)
        spans, news = tell(joined([*before, *moments], self._rule), self._rule)
        kept = [(span.start_ms, span.end_ms, span.truck, span.told) for span in recent(spans, self._rule)]
        self._spans.update((kept,))
        for span in news:
            yield Row(driver=key[0], truck=span.truck, since_ms=span.start_ms)
