"""A stream with batches an hour apart, in sessions that are not ours: a driver of Spark's, a process of its own."""

import sys
import tempfile

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.spark import register
from support.small_spark import SETTINGS, started

_GROUP = "seldom"


def main(bootstrap: str, topic: str, *, registered: bool) -> None:
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if registered:
        register(spark)
    told = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    other = spark.newSession()  # its queries are not among those of the default session
    rows = other.readStream.format("odradek").options(**told, **{"kafka.group.id": _GROUP}).load()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": _GROUP})

    def committed(query: StreamingQuery) -> None:
        for _ in range(300):
            [so_far] = consumer.committed([TopicPartition(topic, 0)])
            if query.recentProgress and so_far.offset == consumer.get_watermark_offsets(so_far)[1]:
                return
            query.awaitTermination(1)
        raise AssertionError("the last batch stands as lag")

    with tempfile.TemporaryDirectory() as checkpoint:
        writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = started(writer.trigger(processingTime="1 hour").start, committed)
        sys.stdout.write(f"committed after {len(query.recentProgress)} batch\n")
        query.stop()
        spark.stop()
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], registered="registered" in sys.argv[3:])
