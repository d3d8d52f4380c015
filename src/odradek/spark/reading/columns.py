"""The columns that records have in Spark: those of Spark's own Kafka connector."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
HEADERS = "headers"
"""Null where a record has none, as in Spark's connector: no empty list."""
ALL_COLUMNS = (*PLAIN_COLUMNS, HEADERS)


@cache
def arrow_schema(columns: tuple[str, ...]) -> pa.Schema:
    """What PySpark makes of the schema that Spark has for these columns, every one of them nullable.

    PySpark refuses a record batch whose schema is not equal to it.
    """
    import pyarrow as pa  # takes a quarter of a second: not for those who only plan

    types = {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        HEADERS: pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    }
    return pa.schema([(name, types[name]) for name in columns])
