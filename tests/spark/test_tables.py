"""A compacted topic as a table, alone and joined with a stream."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.spark import table
from odradek.spark.given_options import InvalidOption
from odradek.spark.tables import latest_rows
from odradek.testing import RunningBroker

COMPACTED = {"cleanup.policy": "compact"}
SCHEMA = "key binary, value binary, partition int, offset long, timestamp timestamp"
Finished = Callable[[Callable[[], StreamingQuery]], StreamingQuery]


def produce(broker: RunningBroker, topic: str, *pairs: tuple[str | None, str | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for key, value in pairs:
        producer.produce(topic, value, key)
    assert producer.flush(60) == 0


def pairs(rows: DataFrame) -> dict[str, str]:
    found = rows.select("key", "value").collect()
    as_text = {bytes(row.key).decode(): bytes(row.value).decode() for row in found}
    assert len(as_text) == len(found)
    return as_text


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def test_the_latest_value_of_each_key_and_none_that_was_removed(
    spark: SparkSession, odradek_shared_broker: RunningBroker
) -> None:
    topic = "table-latest"
    odradek_shared_broker.create_topic(topic, 3, COMPACTED)
    many = [(f"k{number}", f"old {number}") for number in range(100)]
    produce(odradek_shared_broker, topic, *many, ("k1", "new 1"), ("k2", None), ("k3", None), ("k3", "again 3"))
    read = table(spark, topic, odradek_shared_broker.bootstrap)
    assert read.columns == ["key", "value", "partition", "offset", "timestamp"]
    expected = dict(many) | {"k1": "new 1", "k3": "again 3"}
    del expected["k2"]
    assert pairs(read) == expected


def test_a_table_of_nothing(spark: SparkSession, odradek_shared_broker: RunningBroker) -> None:
    odradek_shared_broker.create_topic("table-empty", 2, COMPACTED)
    assert pairs(table(spark, "table-empty", odradek_shared_broker.bootstrap)) == {}


def test_aborted_rows_are_not_in_a_table_unless_asked_for(
    spark: SparkSession, odradek_shared_broker: RunningBroker
) -> None:
    topic = "table-aborted"
    odradek_shared_broker.create_topic(topic, 1, COMPACTED)
    produce(odradek_shared_broker, topic, ("k", "good"))
    writer = Producer({"bootstrap.servers": odradek_shared_broker.bootstrap, "transactional.id": topic})
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(topic, "bad", "k")
    writer.flush()
    writer.abort_transaction()
    bootstrap = odradek_shared_broker.bootstrap
    assert pairs(table(spark, topic, bootstrap)) == {"k": "good"}
    dirty = table(spark, topic, bootstrap, **{"kafka.isolation.level": "read_uncommitted"})
    assert pairs(dirty) == {"k": "bad"}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # within a partition by offset, whatever the clock of the writer said
        ([(0, 1, at(9), "first"), (0, 2, at(1), "second")], {"k": "second"}),
        # between partitions by time, whatever the offsets
        ([(0, 90, at(1), "before"), (1, 2, at(5), "after")], {"k": "after"}),
        # a key that is removed where it is now stays removed, though it is still where it was
        ([(0, 90, at(1), "before"), (1, 2, at(5), None)], {}),
    ],
)
def test_what_is_later(
    spark: SparkSession, rows: Iterable[tuple[int, int, datetime, str | None]], expected: dict[str, str]
) -> None:
    made = [
        Row(
            key=b"k",
            value=None if value is None else value.encode(),
            partition=partition,
            offset=offset,
            timestamp=time,
        )
        for partition, offset, time, value in rows
    ]
    assert pairs(latest_rows(spark.createDataFrame(made, SCHEMA))) == expected


def test_rows_without_a_key_are_in_no_table(spark: SparkSession) -> None:
    keyless = Row(key=None, value=b"v", partition=0, offset=0, timestamp=at(0))
    assert latest_rows(spark.createDataFrame([keyless], SCHEMA)).collect() == []


def test_what_a_table_sets_itself_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="option columns: a table sets it itself"):
        table(spark, "any", "127.0.0.1:1", columns="value")


def test_each_batch_of_a_stream_is_joined_with_the_table_as_it_is_then(
    spark: SparkSession, odradek_shared_broker: RunningBroker, tmp_path: Path, finished: Finished
) -> None:
    broker, bootstrap = odradek_shared_broker, odradek_shared_broker.bootstrap
    broker.create_topic("table-plans", 1, COMPACTED)
    broker.create_topic("table-events", 1)
    plans = table(spark, "table-plans", bootstrap).selectExpr("key", "string(value) AS plan")
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": "table-events", "startingOffsets": "earliest"}
    events = spark.readStream.format("odradek").options(**options, maxOffsetsPerTrigger="1").load()
    joined = events.select("key", "offset").join(plans, "key")
    seen: list[tuple[int, str]] = []

    def take(batch: DataFrame, _number: int) -> None:
        seen.extend((row.offset, row.plan) for row in batch.collect())
        produce(broker, "table-plans", ("a", f"after {seen[-1][0]}"))

    produce(broker, "table-plans", ("a", "before all"))
    produce(broker, "table-events", ("a", "1"), ("a", "2"), ("a", "3"))
    query = joined.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path))
    finished(lambda: query.trigger(availableNow=True).start())
    assert seen == [(0, "before all"), (1, "after 0"), (2, "after 1")]
