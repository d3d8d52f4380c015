"""The job that adds what is known of a tenant to what the tenant did."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from odradek.pipelines.contract import OPERATION, TEXT_BYTES_MAX, TIME
from odradek.pipelines.judging import accepted, result, time_text


def operations_with_plan(records: DataFrame, plans: DataFrame) -> DataFrame:
    """Every operation with the plan of its tenant, where there is one, and the place that it comes from.

    `plans` is the compacted topic as `odradek.spark.table` gives it. A plan with a name too long for a text is none.
    """
    known = plans.select(
        f.col("key").cast("string").alias("tenant"),
        f.get_json_object(f.col("value").cast("string"), "$.plan").alias("plan"),
    ).where(f.octet_length("plan") <= TEXT_BYTES_MAX)
    # Small as it is, each task may have all of it: else Spark would sort the operations of each batch by tenant.
    joined = accepted(records, OPERATION).join(f.broadcast(known), "tenant", "left")
    names = [field.name for field in OPERATION.fields]
    columns = [*map(f.col, names), time_text(f.col(TIME)).alias(TIME), f.col("plan")]
    return joined.select(*result(f.col("key"), *columns, f.col("topic"), f.col("partition"), f.col("offset")))
