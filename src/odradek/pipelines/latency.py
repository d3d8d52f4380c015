"""Jobs about how long data centres take: trends, and where one leaves its own band."""

from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from odradek.pipelines.activity import DEFAULT, window_edges
from odradek.pipelines.contract import APART_MS, LATE_MS, OPERATION, TIME, AnomalyRule, Windows
from odradek.pipelines.judging import WATERMARK, accepted, result, time_text
from odradek.pipelines.series import Bucket, points

DEFAULT_RULE = AnomalyRule()
_KEPT_MS = LATE_MS + APART_MS
_BUCKETS = "buckets array<struct<start_ms: long, count: long, sum_us: long>>"
_COLUMNS = ("centre", "start_ms", "mean_us", "average_us", "deviation_us", "low_us", "high_us", "anomaly")
_BAND = ("average_us", "deviation_us", "low_us", "high_us")
_POINT = (
    "centre string, start_ms long, mean_us long, average_us long, deviation_us long, low_us long, high_us long,"
    " anomaly boolean"
)


def latency_trends(records: DataFrame, windows: Windows = DEFAULT) -> DataFrame:
    """Exact quantiles and the rate, by window and data centre. A quantile is a latency that was seen."""
    seen = (
        accepted(records, OPERATION)
        .withWatermark(TIME, WATERMARK)
        .groupBy(f.window(TIME, f"{windows.trend_ms} milliseconds"), "centre")
        .agg(
            f.count("*").alias("events"),
            f.count(f.when(f.col("status") == "error", 1)).alias("errors"),
            # Spark's own percentiles keep a count for each value, and that three times.
            f.sort_array(f.collect_list("latency_us")).alias("sorted"),
        )
    )
    start, end = window_edges()
    rate = (f.col("events") * 1000 / f.lit(windows.trend_ms)).alias("per_second")
    quantiles = [_quantile(percent).alias(f"p{percent}_us") for percent in (50, 95, 99)]
    columns = [*map(f.col, ("centre", "events", "errors")), rate, *quantiles]
    return seen.select(*result(f.concat_ws("|", start, "centre"), start, end, *columns))


def _quantile(percent: int) -> Column:
    """The smallest of `sorted`, of which there are `events`, with at least that share at or below it."""
    return f.expr(f"element_at(sorted, int((events * {percent} + 99) div 100))")


def latency_anomalies(records: DataFrame, rule: AnomalyRule = DEFAULT_RULE) -> DataFrame:
    """The series of each data centre: the mean of every window, the band of the windows before, and if it is left.

    A point is told again when an event changes it; the last one counts.
    """
    at_ms = f.unix_millis(TIME)
    seen = accepted(records, OPERATION).select(
        "centre", (at_ms - at_ms % rule.window_ms).alias("start_ms"), f.col("latency_us")
    )
    series = seen.groupBy("centre").transformWithStateInPandas(_Series(rule), _POINT, "Update", "None")
    start = time_text(f.timestamp_millis("start_ms")).alias("window_start")
    end = time_text(f.timestamp_millis(f.col("start_ms") + rule.window_ms)).alias("window_end")
    columns = map(f.col, ("centre", "mean_us", *_BAND, "anomaly"))
    return series.select(*result(f.concat_ws("|", start, "centre"), start, end, *columns))


class _Series(StatefulProcessor):
    """Keeps the windows of each data centre that may still change, and those that they are measured by."""

    def __init__(self, rule: AnomalyRule) -> None:
        self._rule = rule

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._buckets = handle.getValueState("buckets", _BUCKETS)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Rows come and go as DataFrames of pandas: one by one they would take most of the time of a batch."""
        state = self._buckets.get()
        buckets = {start: Bucket(count, sum_us) for start, count, sum_us in (state[0] if state is not None else ())}
        changed = set()
        for frame in rows:
            for start, count, sum_us in frame.groupby("start_ms")["latency_us"].agg(["count", "sum"]).itertuples():
                before = buckets.get(start, Bucket(0, 0))
                buckets[int(start)] = Bucket(before.count + int(count), before.sum_us + int(sum_us))
                changed.add(int(start))
        horizon_ms = max(buckets) - _KEPT_MS - self._rule.history * self._rule.window_ms
        kept = [(start, *astuple(bucket)) for start, bucket in sorted(buckets.items()) if start >= horizon_ms]
        self._buckets.update((kept,))
        told = [(key[0], *astuple(point)) for point in points(buckets, changed, self._rule)]
        yield pd.DataFrame(told, columns=_COLUMNS, dtype=object)  # numbers may be null
