"""Tasks that read as the one before: what Spark tells a worker of a task is nearly the same each time.

It tells 12 KB, in what PySpark calls the init message: the settings of the session, and the reader, pickled with all
that PySpark puts around it. PySpark makes all of it anew for every task, which takes longer than to decode the records
of a small batch. Here the words of a task that has read a topic are kept, with its reader; a task that comes with the
same words goes to that reader at once. Any other is PySpark's, as ever.

For sessions whose daemon is ours. It knows the words of Spark 4.3, and how its workers answer.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from inspect import getclosurevars
from io import BufferedReader
from struct import Struct
from typing import IO, TYPE_CHECKING, Any

from pyspark.logger.worker_io import capture_outputs
from pyspark.messages import ZeroCopyByteStream
from pyspark.serializers import SpecialLengths
from pyspark.util import (
    PythonEvalType,
    handle_worker_exception,
    start_faulthandler_periodic_traceback,
    with_faulthandler,
)
from pyspark.worker_message import WorkerInitInfo
from pyspark.worker_util import pickleSer, read_command

from odradek.process.clock import SystemClock
from odradek.spark.batch_reader import BatchReader, FilteringBatchReader
from odradek.spark.streams.reader import StreamReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition

    Read = Callable[[InputPartition], Iterator[pa.RecordBatch]]

Main = Callable[[BufferedReader, IO[bytes]], None]
"""Of a worker: one task."""

_KEPT_MAX = 16
"""Queries whose tasks a worker may be given in turn."""
_HEAD = Struct(">ii")
_INT = Struct(">i")
_DONE = Struct(">i6qii")
"""What is told of a task behind its rows: times, memory and disk that it was in want of, and accumulators."""
_ID_BYTES = 8
"""The last of what is told, the id of the result: another for each task, of which profiles alone make use."""
_READS = "pyspark.sql.worker.plan_data_source_read"
"""The module of the function by which PySpark reads from a source."""
_MARKS = (_READS.encode(), b"odradek.spark")
"""Both are in the words of a task that reads by a reader of ours."""
_READERS = (StreamReader, BatchReader, FilteringBatchReader)


def quick(of_pyspark: Main) -> Main:
    """`pyspark.worker.main`, which is left to deal with all tasks that are new, and with all that do not read a topic
    and nothing else."""
    kept: dict[bytes, Read | None] = {}
    """By words; None for those that are PySpark's for good."""

    @with_faulthandler
    def main(infile: BufferedReader, outfile: IO[bytes]) -> None:
        told = _told(infile)
        words = _words(told)
        read = kept.get(words)
        if read is not None:
            infile.read(_HEAD.size + len(told))
            _read_again(read, infile, outfile)
            return
        of_pyspark(infile, outfile)
        if words not in kept and all(mark in words for mark in _MARKS):
            if len(kept) == _KEPT_MAX:
                del kept[next(iter(kept))]
            kept[words] = _read_by(told)

    return main


def _told(infile: BufferedReader) -> bytes:
    """All that is told of the next task, which is still to be read. Nothing where not all of it has come at once."""
    try:
        seen = infile.peek()
    except OSError:  # Spark has let the worker go: PySpark finds that out by itself
        return b""
    if len(seen) < _HEAD.size:
        return b""
    what, size = _HEAD.unpack_from(seen)
    if what != SpecialLengths.START_OF_INIT_MESSAGE or not 0 < size <= len(seen) - _HEAD.size:
        return b""
    return seen[_HEAD.size : _HEAD.size + size]


def _words(told: bytes) -> bytes:
    """What is the same for tasks that read by the same reader: all but the number of the partition, which comes first,
    the version of Python and the context of the task behind it, and the id of the result at the end."""
    at = _INT.size
    for _ in range(2):
        if len(told) < at + _INT.size:
            return b""
        at += _INT.size + max(_INT.unpack_from(told, at)[0], 0)
    return told[at:-_ID_BYTES]


def _read_by(told: bytes) -> "Read | None":
    """What such a task reads by, where it does nothing else: no profile is made of it, it shares no variables, and it
    is PySpark's function for a source, around a reader of ours. Somebody else's may well have one of ours in it, and
    change what that gives."""
    stream = ZeroCopyByteStream(memoryview(told))
    stream.finish()
    info = WorkerInitInfo.from_stream(stream)
    if (
        info.eval_type != PythonEvalType.SQL_MAP_ARROW_ITER_UDF
        or info.broadcast.variables
        or any(name.endswith(".profiler") for name in info.runner_conf)
        or os.environ.get("SPARK_PIPELINED_UDF") == "1"
    ):
        return None
    functions = info.udf_info
    if not isinstance(functions, list) or [len(each.udfs) for each in functions] != [1]:
        return None
    function, _ = read_command(pickleSer, functions[0].udfs[0])
    if function.__module__ != _READS:
        return None
    reader: Any = getclosurevars(function).nonlocals.get("reader")
    return reader.read if type(reader) in _READERS else None


def _read_again(read: "Read", infile: BufferedReader, outfile: IO[bytes]) -> None:
    import pyarrow as pa

    clock = SystemClock()
    begin_ms = clock.now_ms()
    try:
        start_faulthandler_periodic_traceback()
        given = pa.ipc.open_stream(infile)
        partition = pickle.loads(_value(given.read_next_batch()))
        with capture_outputs():
            _write(read(partition), outfile)
        if len(given.read_all()):  # the end of the Arrow stream, which has to be read before the end of all
            raise AssertionError("a task has one partition")
    except BaseException as error:  # noqa: BLE001 - it is for Spark, whatever it is
        handle_worker_exception(error, outfile)
        sys.exit(-1)
    end_ms = clock.now_ms()
    times_ms = (begin_ms, begin_ms, end_ms, end_ms - begin_ms)
    outfile.write(_DONE.pack(SpecialLengths.TIMING_DATA, *times_ms, 0, 0, SpecialLengths.END_OF_DATA_SECTION, 0))
    is_over = _is_over(infile)
    outfile.write(_INT.pack(SpecialLengths.END_OF_STREAM if is_over else SpecialLengths.END_OF_DATA_SECTION))
    if not is_over:
        sys.exit(-1)  # Spark does not use a worker again that has answered so


def _is_over(infile: BufferedReader) -> bool:
    try:
        return infile.read(_INT.size) == _INT.pack(SpecialLengths.END_OF_STREAM)
    except OSError:
        return False


def _value(batch: "pa.RecordBatch") -> memoryview:
    """The only one that it has: of the only column of its only struct."""
    (struct,) = batch.columns
    (values,) = struct.flatten()
    (value,) = values
    return memoryview(value.as_buffer())


def _write(batches: "Iterator[pa.RecordBatch]", outfile: IO[bytes]) -> None:
    import pyarrow as pa

    first = next(batches, None)
    if first is None:
        return
    outfile.write(_INT.pack(SpecialLengths.START_ARROW_STREAM))
    row = _row(first)
    with pa.RecordBatchStreamWriter(outfile, row.schema) as writer:
        writer.write_batch(row)
        for batch in batches:
            writer.write_batch(_row(batch))


def _row(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """With its columns in a struct, as Spark wants it."""
    import pyarrow as pa

    struct = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
    return pa.RecordBatch.from_arrays([struct], ["_0"])
