"""The data source `odradek` as PySpark finds it. Its module is imported in every process that plans a query.

So nothing is imported here that takes time: no pyarrow, no numba, no asyncio.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from odradek.spark.runtime.told import told_in_one_line

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )

    from odradek.spark.options import SourceOptions

_FILTERING = "pyspark.sql.worker.data_source_pushdown_filters"
"""The module that Spark runs to plan a query whose filters it pushes down; the API does not tell in another way."""

_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}


class OdradekSource(DataSource):
    """`spark.read.format("odradek")`, readStream, write and writeStream."""

    @classmethod
    def name(cls) -> str:
        return "odradek"

    def schema(self) -> StructType:
        """Checks the options: this is called by `load()`, before any query runs."""
        with told_in_one_line():
            return _schema(self._checked(streaming=None))

    def reader(self, schema: StructType) -> DataSourceReader:
        from odradek.spark.batch_reader import BatchReader, FilteringBatchReader

        with told_in_one_line():
            options = self._checked(streaming=False, schema=schema)
            narrows = options.narrow_by_filters and _is_filtering()
            return FilteringBatchReader(options) if narrows else BatchReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from odradek.spark.given_options import InvalidOption
        from odradek.spark.streams.reader import RefusedStream, StreamReader

        try:
            return StreamReader(self._checked(streaming=True, schema=schema))
        except InvalidOption as error:
            return RefusedStream(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from odradek.spark.sink.writers import BatchSink

        with told_in_one_line():
            return BatchSink(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from odradek.spark.sink.writers import StreamSink

        with told_in_one_line():
            return StreamSink(self.options, schema, overwrite)

    def _checked(self, *, streaming: bool | None, schema: StructType | None = None) -> SourceOptions:
        from odradek.spark.given_options import InvalidOption
        from odradek.spark.options import source_options

        options = source_options(self.options, streaming=streaming)
        if schema is not None and schema != _schema(options):
            raise InvalidOption("schema", "the columns are those of Kafka", "call no schema(); columns narrows them")
        return options


def _is_filtering() -> bool:
    """Whether this process plans a query whose filters are pushed down: then it has this module, or is it."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return _FILTERING in sys.modules or (spec is not None and spec.name == _FILTERING)


def _schema(options: SourceOptions) -> StructType:
    return StructType([StructField(name, _TYPES[name]) for name in options.reading.columns])
