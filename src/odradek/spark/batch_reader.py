"""The readers of a batch query, as Spark wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from odradek.model.topic_partition import TopicPartition
from odradek.spark.filters import Narrowing, narrow
from odradek.spark.reading import read_ranges
from odradek.spark.runtime.told import told_in_one_line, told_while_reading
from odradek.spark.runtime.worker import in_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from odradek.spark.options import SourceOptions
    from odradek.spark.reading.range import Range


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._narrowing = Narrowing()

    def partitions(self) -> Sequence[InputPartition]:
        from odradek.spark.batch_planning import partitions_now, plan_batch
        from odradek.spark.planning import gather

        with told_in_one_line():
            if self._options.resolve_when_read:
                return [InputPartition(each) for each in partitions_now(self._options)]
            ranges = plan_batch(self._options, self._narrowing)
            return [InputPartition(each) for each in gather(ranges, self._options.tasks_max)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:  # Spark's own, where there is nothing to read
            return iter(())
        return told_while_reading(in_task(self._read(partition.value)))

    def _read(self, what: tuple[Range, ...] | TopicPartition) -> Iterator[pa.RecordBatch]:
        from odradek.spark.batch_planning import plan_partition

        ranges = plan_partition(self._options, what) if isinstance(what, TopicPartition) else what
        yield from read_ranges(ranges, self._options.reading)


class FilteringBatchReader(BatchReader):
    """A class of its own: Spark refuses a reader that takes filters while it is not to push them down.

    Only for who asks for it: Spark 4.3 uses the plan of the last filter for every scan of the same `load()`, also for
    those with another filter or with none.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """All are given back, so that Spark applies them too: what is fetched is only narrowed."""
        self._narrowing = narrow(filters)
        return filters
