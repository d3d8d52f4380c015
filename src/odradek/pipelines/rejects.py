"""The job that keeps what counts for nothing."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from odradek.pipelines.contract import LETTER_BYTES_MAX, OPERATION, POSITION, TRUCKS_GPS
from odradek.pipelines.judging import judged, reason_of, result, time_text


def dead_letters(records: DataFrame) -> DataFrame:
    """Every record of events that counts for nothing: why, where it is, when it was written, and its bytes.

    Of a value that is too large it has the first bytes, and how many there were; a key that is too large is left out.
    """
    is_truck = f.col("topic") == TRUCKS_GPS
    both = judged(judged(records, POSITION, is_truck), OPERATION, ~is_truck)
    reason = f.when(is_truck, reason_of(POSITION)).otherwise(reason_of(OPERATION))
    bad = both.withColumn("reason", reason).where(f.col("reason").isNotNull())
    written = time_text(f.col("timestamp")).alias("written")
    size = f.octet_length("value")
    value = _base64(f.substring("value", 1, LETTER_BYTES_MAX)).alias("value_base64")
    value_bytes = f.when(size > LETTER_BYTES_MAX, size).alias("value_bytes")
    key = f.when(f.octet_length("key") <= LETTER_BYTES_MAX, f.col("key"))
    place = map(f.col, ("topic", "partition", "offset"))
    return bad.select(*result(key, f.col("reason"), *place, written, value, value_bytes))


def _base64(data: Column) -> Column:
    return f.translate(f.base64(data), "\r\n", "")  # Spark cuts it into lines
