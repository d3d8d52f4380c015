"""The readers of a batch query, as Spark wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from odradek.spark.filters import Narrowing, narrow
from odradek.spark.reading import read_range
from odradek.spark.told import told_in_one_line, told_while_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from odradek.spark.options import SourceOptions


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._narrowing = Narrowing()

    def partitions(self) -> Sequence[InputPartition]:
        from odradek.spark.batch_planning import plan_batch

        with told_in_one_line():
            return [InputPartition(each) for each in plan_batch(self._options, self._narrowing)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:  # Spark's own, where there is nothing to read
            return iter(())
        return told_while_reading(read_range(partition.value, self._options.reading))


class FilteringBatchReader(BatchReader):
    """A class of its own: Spark refuses a reader that takes filters while it is not to push them down."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """All are given back, so that Spark applies them too: what is fetched is only narrowed."""
        self._narrowing = narrow(filters)
        return filters
