"""A job that passes records on exactly once, and dies where it is told to: a driver of Spark's in a process of its own.

It is told by a file of that name in a directory, which goes before it dies: so it happens once.
"""

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from odradek.spark import session
from odradek.spark.sink.prepared import Prepared
from odradek.spark.sink.writers import Messages, StreamSink
from odradek.spark.source import OdradekSource
from support import small_spark

POINTS = Path(sys.argv[5])
GROUP = os.getpgrp()
"""Of the driver. Spark gives its Python processes a group of their own."""


class DyingSink(StreamSink):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if taken("first-rows"):
            iterator = dying_behind_the_first(iterator)
        message = super().write(iterator)
        if taken("prepared-task"):
            os.kill(os.getpid(), signal.SIGKILL)
        return message

    def commit(self, messages: Messages, batchId: int) -> None:
        if taken("before-commits"):
            os.killpg(GROUP, signal.SIGKILL)
        if taken("between-commits"):
            super().commit([messages[0], *map(without_transaction, messages[1:])], batchId)
            os.killpg(GROUP, signal.SIGKILL)
        if taken("broker"):
            with (POINTS / "ask").open("w") as asking:
                asking.write("now")
            (POINTS / "told").read_text()  # waits until somebody writes
        super().commit(messages, batchId)
        if taken("behind-commits"):
            os.killpg(GROUP, signal.SIGKILL)


def without_transaction(message: WriterCommitMessage | None) -> WriterCommitMessage:
    assert isinstance(message, Prepared)
    return replace(message, transaction=None)


def dying_behind_the_first(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield next(iterator)
    os.kill(os.getpid(), signal.SIGKILL)


def taken(point: str) -> bool:
    try:
        (POINTS / point).unlink()
    except FileNotFoundError:
        return False
    return True


class DyingSource(OdradekSource):
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return DyingSink(self.options, schema, overwrite)


def main(bootstrap: str, source: str, target: str, checkpoint: str) -> None:
    spark = session(
        "dying",
        "local[2,8]",  # a task that dies is tried again
        **small_spark.SETTINGS,
    )
    spark.dataSource.register(DyingSource)
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": source, "startingOffsets": "earliest"}
    rows = spark.readStream.format("odradek").options(**options, maxOffsetsPerTrigger="90").load()
    query = (
        rows.select("key", "value")
        .writeStream.format("odradek")
        .options(**{"kafka.bootstrap.servers": bootstrap, "topic": target, "exactlyOnce": "true"})
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:5])
