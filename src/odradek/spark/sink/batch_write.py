"""A batch of a stream written by the driver's own hand, where it comes often."""

from __future__ import annotations

import pickle
from struct import pack
from typing import TYPE_CHECKING

from odradek.spark.sink.writers import BatchSink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

_MESSAGE = "message"


def write_batch(rows: DataFrame, options: Mapping[str, str]) -> None:
    """What `rows.write.format("odradek").options(...).mode("append").save()` does, for less: Spark starts two Python
    processes for each such call, one to plan it and one to commit it, and here they are the caller's.

    Where it fails, what tasks have prepared is left to the next attempt at the same batch, or to the timeout of
    transactions. Raises InvalidOption, BadSchema, SinkError, and what Spark raises.
    """
    sink = BatchSink(options, rows.schema, overwrite=False)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _told(pickle.dumps(sink.write(batches)))

    written = rows.mapInArrow(write, f"{_MESSAGE} binary").collect()
    sink.commit_prepared([pickle.loads(row[_MESSAGE]) for row in written])


def _told(message: bytes) -> pa.RecordBatch:
    """One row. It is made of buffers: where pyarrow is given an object of Python's it imports pandas, for a third of a
    second of each new worker."""
    import pyarrow as pa

    edges = pa.py_buffer(pack("=2i", 0, len(message)))
    column = pa.Array.from_buffers(pa.binary(), 1, [None, edges, pa.py_buffer(message)])
    return pa.RecordBatch.from_arrays([column], names=[_MESSAGE])
