"""The reader of a stream, as Spark wants it. It is pickled for the tasks, so what it works with is made when used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from odradek.spark.reading import read_ranges
from odradek.spark.runtime.told import told_in_one_line, told_while_reading
from odradek.spark.runtime.worker import in_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from odradek.spark.given_options import InvalidOption
    from odradek.spark.options import SourceOptions
    from odradek.spark.streams.driver import StreamDriver


class RefusedStream(DataSourceStreamReader):
    """Tells what is wrong with its options when it is first asked for anything: an error while a reader is made reaches
    nobody, as Spark then fails to stop the reader that it has not got."""

    def __init__(self, error: InvalidOption) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, Any]:
        with told_in_one_line():
            raise self._error

    def getDefaultReadLimit(self) -> ReadLimit:
        with told_in_one_line():
            raise self._error

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        with told_in_one_line():
            raise self._error

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        with told_in_one_line():
            raise self._error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        raise self._error


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """On the driver it lives as long as the query runs, in a process of its own, which Spark ends by killing it."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._driver: StreamDriver | None = None

    def initialOffset(self) -> dict[str, Any]:
        with told_in_one_line():
            return self._driving().initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """There are more limits than Spark has a word for: all that counts is that this one does not mean all."""
        return ReadMaxRows(self._options.limits.rows_max or (1 << 63) - 1)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        from odradek.spark.offsets import Position

        with told_in_one_line():
            limited = not isinstance(limit, ReadAllAvailable)
            return self._driving().advance(Position.from_json(start), limited=limited).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._driving().latest()

    def prepareForTriggerAvailableNow(self) -> None:
        self._driving().read_all_there_is_now()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        from odradek.spark.offsets import Position
        from odradek.spark.planning import gather

        with told_in_one_line():
            until = Position.from_json(end)
            ranges = self._driving().ranges(Position.from_json(start), until)
            return [InputPartition(each) for each in gather(ranges, until.tasks or self._options.tasks_max)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return told_while_reading(in_task(read_ranges(partition.value, self._options.reading)))

    def commit(self, end: dict[str, Any]) -> None:
        from odradek.spark.offsets import Position

        self._driving().done(Position.from_json(end))

    def _driving(self) -> StreamDriver:
        if self._driver is None:
            import os
            import time

            from odradek.spark.cluster import Cluster
            from odradek.spark.runtime.gateway import find_gateway
            from odradek.spark.runtime.queries import Queries
            from odradek.spark.runtime.slots import slots_here, starter
            from odradek.spark.runtime.sockets import send_at_once
            from odradek.spark.streams.driver import StreamDriver

            send_at_once()
            slots = slots_here(os.environ, starter())
            gateway = find_gateway(os.environ, os.getppid())
            queries = None if gateway is None else Queries(gateway)
            cluster = Cluster(self._options)
            self._driver = StreamDriver(self._options, cluster, time.monotonic, slots=slots, queries=queries)
        return self._driver
