"""A source of made-up events, one for each tick of the clock, that asks nobody and decodes nothing.

What a stream of it takes is Spark's part and PySpark's, and little more: some calls of numpy and pyarrow for a batch.
In a `session()`, workers know its tasks again, as they do those of ours. So it shows what is left for a source in
Python to take, and less than that: events of the clock are there at once, where those of a producer have a broker on
their way. It is in the table of `./run bench spark` next to streams that are read from a broker.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from odradek.spark.reading.columns import PLAIN_COLUMNS, arrow_schema
from odradek.spark.runtime.worker import in_task
from odradek.spark.source import OdradekSource

_VALUE_BYTES = 100
_ALL = (1 << 63) - 1


def _be_known_again() -> None:
    """In a worker of a `session()`, which looks for readers of ours alone."""
    repeated: Any = sys.modules.get("odradek.spark.runtime.repeated")
    if repeated is not None:
        repeated._MARKS = (repeated._READS.encode(),)
        repeated._READERS += (_Clock,)


class ClockSource(DataSource):
    """`format("clock")` with the columns of Kafka, and an option `rate`: events a second, each with its time."""

    @classmethod
    def name(cls) -> str:
        return "clock"

    def schema(self) -> StructType:
        return OdradekSource({"kafka.bootstrap.servers": "nobody:1", "subscribe": "nothing"}).schema()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _Clock(int(self.options["rate"]))


class _Clock(DataSourceStreamReader):
    """An offset is a number of ticks since 1970."""

    def __init__(self, rate: int) -> None:
        self._tick_ns = 1_000_000_000 // rate
        self._began = self._now()

    def initialOffset(self) -> dict[str, int]:
        """The same whenever it is asked for: Spark does so twice."""
        return self._began

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(_ALL)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return self._now()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition((start["tick"], end["tick"]))]

    def commit(self, end: dict[str, int]) -> None:
        pass

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        start, end = partition.value
        return in_task(iter([_batch(start, end - start, self._tick_ns)]))

    def _now(self) -> dict[str, int]:
        return {"tick": time.time_ns() // self._tick_ns}


def _batch(start: int, count: int, tick_ns: int) -> pa.RecordBatch:
    """Of these ticks: only their times are written."""
    values, others = _made(1 << count.bit_length())
    times = np.arange(start, start + count, dtype=np.int64) * tick_ns
    values[:count, :8] = times.astype(">i8").view(np.uint8).reshape(count, 8)
    edges = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * _VALUE_BYTES)
    value = pa.Array.from_buffers(pa.binary(), count, [None, edges, pa.py_buffer(values)])
    arrays = [value if name == "value" else others[name].slice(0, count) for name in PLAIN_COLUMNS]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(PLAIN_COLUMNS))


@cache
def _made(count: int) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], dict[str, pa.Array]]:
    """Values with room for a time, and the other columns of so many rows: made once in each process."""
    zeros = pa.py_buffer(bytes(8 * (count + 1)))
    others = {}
    for field in arrow_schema(PLAIN_COLUMNS):
        is_text = pa.types.is_string(field.type) or pa.types.is_binary(field.type)
        buffers = [None, zeros, pa.py_buffer(b"")] if is_text else [None, zeros]
        others[field.name] = pa.Array.from_buffers(field.type, count, buffers)
    return np.full((count, _VALUE_BYTES), ord("."), np.uint8), others


_be_known_again()
