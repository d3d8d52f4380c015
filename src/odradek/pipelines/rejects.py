"""The job that keeps what counts for nothing."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from odradek.pipelines.contract import OPERATION, POSITION, TRUCKS_GPS
from odradek.pipelines.judging import check_session, event_of, reason_of, result, time_text


def dead_letters(records: DataFrame) -> DataFrame:
    """Every record of events that counts for nothing: why, where it is, when it was written, and its bytes."""
    check_session(records)
    judged = records.withColumn("position", event_of(POSITION)).withColumn("operation", event_of(OPERATION))
    reason = f.when(f.col("topic") == TRUCKS_GPS, reason_of(POSITION, f.col("position"))).otherwise(
        reason_of(OPERATION, f.col("operation"))
    )
    bad = judged.withColumn("reason", reason).where(f.col("reason").isNotNull())
    written = time_text(f.col("timestamp")).alias("written")
    value = f.translate(f.base64("value"), "\r\n", "").alias("value_base64")  # Spark cuts it into lines
    return bad.select(*result(f.col("key"), *map(f.col, ("reason", "topic", "partition", "offset")), written, value))
