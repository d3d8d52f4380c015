"""How `session()` has Spark write checkpoints: for less, and so that Spark's own way goes on with them, and back."""

from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.testing import RunningBroker

SETTING = "spark.sql.streaming.checkpointFileManagerClass"
PACKAGE = "org.apache.spark.sql.execution.streaming.checkpointing"


def test_a_checkpoint_goes_on_with_spark_s_own_way_and_back(
    spark: SparkSession,
    finished: Callable[[Callable[[], StreamingQuery]], StreamingQuery],
    odradek_shared_broker: RunningBroker,
    tmp_path: Path,
) -> None:
    seen: dict[int, int] = {}
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    producer = Producer({"bootstrap.servers": odradek_shared_broker.bootstrap})

    def start() -> StreamingQuery:
        options = {"kafka.bootstrap.servers": odradek_shared_broker.bootstrap, "subscribe": "checkpointed"}
        rows = own.readStream.format("odradek").options(startingOffsets="earliest", **options).load()
        counts = rows.groupBy("partition").count()
        return (
            counts.writeStream.outputMode("update")
            .foreachBatch(lambda batch, _: seen.update({row.partition: row["count"] for row in batch.collect()}))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    assert own.conf.get(SETTING) == f"{PACKAGE}.FileSystemBasedCheckpointFileManager"
    ways = ("FileSystemBased", "FileContextBased", "FileSystemBased", "FileContextBased")
    for number, way in enumerate(ways, 1):
        own.conf.set(SETTING, f"{PACKAGE}.{way}CheckpointFileManager")
        producer.produce("checkpointed", b"v", partition=0)
        producer.flush()
        finished(start)
        assert seen == {0: number}
