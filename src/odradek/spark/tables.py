"""A compacted topic as a table: the latest row of each key."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from odradek.spark.given_options import InvalidOption

COLUMNS = ("key", "value", "partition", "offset", "timestamp")
_ISOLATION = "kafka.isolation.level"
_ITS_OWN = ("subscribe", "subscribePattern", "assign", "columns", "includeHeaders", "resolveOffsets")


def read_table(spark: SparkSession, topic: str, options: dict[str, str]) -> DataFrame:
    """Key, value, and where and when each value was written. A key whose latest value is null has no row.

    Options are those of the source. Where no isolation level is named, aborted transactions are left out.
    """
    for name in options:
        if name.lower() in map(str.lower, _ITS_OWN):
            raise InvalidOption(name, "a table sets it itself", "leave it out")
    # Spark plans what a stream is joined with once for all batches of the stream: tasks must look for what is new.
    own = {"subscribe": topic, "columns": ",".join(COLUMNS), "resolveOffsets": "read"}
    rows = spark.read.format("odradek").options(**{_ISOLATION: "read_committed"} | options | own).load()
    return latest_rows(rows)


def latest_rows(rows: DataFrame) -> DataFrame:
    """Of rows with `COLUMNS`, the latest of each key, without those that are null. Rows without a key are left out.

    Within a partition the offset says what is later. A key can be in two: partitions were added, or its writer chose
    them. Offsets of two partitions say nothing of each other, so then the timestamp decides.
    """
    row = f.struct(*COLUMNS)
    of_partition = (
        rows.where(f.col("key").isNotNull()).groupBy("key", "partition").agg(f.max_by(row, "offset").alias("row"))
    )
    newest = f.max_by("row", f.struct("row.timestamp", "row.partition")).alias("row")
    return of_partition.groupBy("key").agg(newest).select("row.*").where(f.col("value").isNotNull())
