"""Jobs about who is active: data centres, and the users in each, in windows that slide."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from odradek.pipelines.contract import OPERATION, TIME, Windows
from odradek.pipelines.judging import WATERMARK, accepted, result, time_text

DEFAULT = Windows()


def active_centres(records: DataFrame, windows: Windows = DEFAULT) -> DataFrame:
    """How many data centres, tenants and users did something, in each window."""
    counted = (
        _watched(records)
        .groupBy(_window(windows))
        .agg(_distinct("centre", "centres"), _distinct("tenant", "tenants"), _distinct("user", "users"), _events())
    )
    start, end = window_edges()
    columns = map(f.col, ("centres", "tenants", "users", "events"))
    return counted.select(*result(start, start, end, *columns))


def active_users(records: DataFrame, windows: Windows = DEFAULT) -> DataFrame:
    """How many users did something in each data centre, in each window."""
    counted = _watched(records).groupBy(_window(windows), "centre").agg(_distinct("user", "users"), _events())
    start, end = window_edges()
    columns = map(f.col, ("centre", "users", "events"))
    return counted.select(*result(f.concat_ws("|", start, "centre"), start, end, *columns))


def window_edges() -> tuple[Column, Column]:
    return (
        time_text(f.col("window.start")).alias("window_start"),
        time_text(f.col("window.end")).alias("window_end"),
    )


def _watched(records: DataFrame) -> DataFrame:
    return accepted(records, OPERATION).withWatermark(TIME, WATERMARK)


def _window(windows: Windows) -> Column:
    return f.window(TIME, f"{windows.active_ms} milliseconds", f"{windows.active_slide_ms} milliseconds")


def _distinct(column: str, name: str) -> Column:
    # Spark counts no distinct values in a stream; a set of them does, and is exact.
    return f.size(f.collect_set(column)).alias(name)


def _events() -> Column:
    return f.count("*").alias("events")
