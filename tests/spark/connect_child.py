"""Reads, streams and writes as a client of Spark Connect: a process of its own, with a server of its own."""

import sys
import tempfile

from pyspark.sql.streaming.query import StreamingQuery

import odradek.spark
from support.small_spark import finished

_ROWS = 100


def main(bootstrap: str, here: str, there: str) -> None:
    cluster = {"kafka.bootstrap.servers": bootstrap}
    spark = odradek.spark.session("connect")  # SPARK_REMOTE names the server
    rows = spark.range(_ROWS).selectExpr("string(id) key", "string(id) value")
    rows.write.format("odradek").options(**cluster, topic=here).mode("append").save()
    streamed = spark.readStream.format("odradek").options(**cluster, subscribe=here, startingOffsets="earliest").load()

    with tempfile.TemporaryDirectory() as checkpoint:

        def start() -> StreamingQuery:
            to_there = streamed.select("key", "value").writeStream.format("odradek")
            where = {**cluster, "topic": there, "exactlyOnce": "true", "checkpointLocation": checkpoint}
            return to_there.options(**where).trigger(availableNow=True).start()

        finished(start)
    written = spark.read.format("odradek").options(**cluster, subscribe=there).load().distinct().count()
    table = odradek.spark.table(spark, there, bootstrap).count()
    sys.stdout.write(f"{type(spark).__module__}: {written} rows, {table} keys\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
