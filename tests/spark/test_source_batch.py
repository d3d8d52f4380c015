"""Topics as tables of Spark: what is in the columns, what is read, and what a user is told."""

import itertools
import json
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from odradek.testing.broker import RunningBroker

_NUMBERS = itertools.count()
Headers = dict[str, str | bytes | None] | None

NOON_MS = 1_767_268_800_000
"""2026-01-01, 12 o'clock."""


@pytest.fixture
def topic(odradek_shared_broker: RunningBroker) -> str:
    """Three partitions; a record a second from noon on, one after the other in each."""
    name = f"batch-{next(_NUMBERS)}"
    odradek_shared_broker.create_topic(name, 3, {"retention.ms": "-1"})  # else a noon of long ago is soon gone
    producer = Producer({"bootstrap.servers": odradek_shared_broker.bootstrap, "compression.type": "zstd"})
    for number in range(30):
        headers: Headers = {"source": b"a"} if number == 4 else None
        key = None if number == 7 else f"k{number}"
        time_ms = NOON_MS + number * 1000
        producer.produce(name, f"v{number}", key, number % 3, timestamp=time_ms, headers=headers)
    producer.flush()
    return name


def table(spark: SparkSession, broker: RunningBroker, **options: str) -> DataFrame:
    reader = spark.read.format("odradek").option("kafka.bootstrap.servers", broker.bootstrap)
    return reader.options(**options).load()


def test_all_columns(spark: SparkSession, odradek_shared_broker: RunningBroker, topic: str) -> None:
    rows = table(spark, odradek_shared_broker, subscribe=topic, includeHeaders="true").collect()
    assert len(rows) == 30
    by_value = {bytes(row.value): row for row in rows}
    row = by_value[b"v4"]
    assert (bytes(row.key), row.topic, row.partition, row.offset, row.timestampType) == (b"k4", topic, 1, 1, 0)
    assert row.timestamp.astimezone(UTC) == datetime(2026, 1, 1, 12, 0, 4, tzinfo=UTC)
    assert [(each.key, bytes(each.value)) for each in row.headers] == [("source", b"a")]
    assert by_value[b"v7"].key is None
    assert by_value[b"v7"].headers is None


def test_ends_columns_and_pieces(spark: SparkSession, odradek_shared_broker: RunningBroker, topic: str) -> None:
    some = table(
        spark,
        odradek_shared_broker,
        subscribe=topic,
        columns="value",
        startingOffsets=json.dumps({topic: {"0": 8, "1": -2, "2": 9}}),
        endingOffsets=json.dumps({topic: {"0": -1, "1": 1, "2": 9}}),
        maxRecordsPerPartition="1",
    )
    assert some.columns == ["value"]
    assert sorted(bytes(row.value) for row in some.collect()) == [b"v1", b"v24", b"v27"]
    assert some.rdd.getNumPartitions() == 3
    timed = table(
        spark,
        odradek_shared_broker,
        subscribe=topic,
        startingTimestamp=str(NOON_MS + 4000),
        endingTimestamp=str(NOON_MS + 6000),
    )
    assert sorted(bytes(row.value) for row in timed.collect()) == [b"v4", b"v5"]


def test_an_end_before_the_start_is_told_though_one_is_a_time(
    spark: SparkSession, odradek_shared_broker: RunningBroker, topic: str
) -> None:
    start = str(NOON_MS + 25_000)
    ends = json.dumps({topic: {"0": -1, "1": 9, "2": 1}})
    rows = table(spark, odradek_shared_broker, subscribe=topic, startingTimestamp=start, endingOffsets=ends)
    with pytest.raises(AnalysisException, match=rf"option endingOffsets: {topic}-2 would end at offset 1, before"):
        rows.count()
    early = json.dumps({topic: {"0": NOON_MS, "1": NOON_MS + 26_000, "2": NOON_MS + 26_000}})
    rows = table(spark, odradek_shared_broker, subscribe=topic, startingTimestamp=start, endingOffsetsByTimestamp=early)
    with pytest.raises(AnalysisException, match=rf"endingOffsetsByTimestamp: {topic}-0 would end at offset 0, before"):
        rows.count()


def test_an_end_that_has_expired_is_told(spark: SparkSession, odradek_shared_broker: RunningBroker) -> None:
    """All that was asked for of that partition is gone; what others have must not hide it."""
    topic = "batch-end-expired"
    odradek_shared_broker.create_topic(topic, 2)
    producer = Producer({"bootstrap.servers": odradek_shared_broker.bootstrap})
    for number in range(20):
        producer.produce(topic, b"value", partition=number % 2)
    producer.flush()
    admin = AdminClient({"bootstrap.servers": odradek_shared_broker.bootstrap})
    for done in admin.delete_records([TopicPartition(topic, 0, 5)]).values():
        done.result()
    ends = json.dumps({topic: {"0": 2, "1": -1}})
    gone = table(spark, odradek_shared_broker, subscribe=topic, endingOffsets=ends)
    with pytest.raises(
        AnalysisException, match=rf"endingOffsets: {topic}-0 would end at offset 2, before its start, 5"
    ):
        gone.count()
    starts = json.dumps({topic: {"0": 1, "1": 0}})
    skipped = table(
        spark,
        odradek_shared_broker,
        subscribe=topic,
        startingOffsets=starts,
        endingOffsets=ends,
        failOnDataLoss="false",
    )
    assert skipped.count() == 10


def test_nothing_to_read(spark: SparkSession, odradek_shared_broker: RunningBroker) -> None:
    odradek_shared_broker.create_topic("batch-empty")
    assert table(spark, odradek_shared_broker, subscribe="batch-empty").count() == 0


PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_filters_narrow_what_is_fetched(spark: SparkSession, odradek_shared_broker: RunningBroker, topic: str) -> None:
    # A session of its own, that never called register: Spark finds the source by the name of its module.
    other = spark.newSession()
    rows = table(other, odradek_shared_broker, subscribe=topic, narrowByFilters="true")
    late = f.col("timestamp") >= f.timestamp_millis(f.lit(NOON_MS + 25_000))
    filters = [
        (f.col("partition") == 1, 10, 1),
        (f.col("topic") == "another", 0, 1),
        (f.col("partition").isin(0, 2) & (f.col("offset") >= 8) & (f.col("offset") < 9), 2, 2),
        (late & (f.col("partition") < 5), 5, 3),
        (late & (f.col("offset") < 8), 0, 1),
    ]
    for condition, count, _ in filters:
        assert rows.where(condition).count() == count
    other.conf.set(PUSHDOWN, "true")
    assert rows.count() == 30
    for condition, count, pieces in filters:
        kept = rows.where(condition)
        assert (kept.count(), kept.rdd.getNumPartitions()) == (count, pieces)


@pytest.mark.parametrize("pushdown", ["true", "false"])
def test_a_filter_takes_no_rows_from_others_of_the_same_frame(
    spark: SparkSession, odradek_shared_broker: RunningBroker, topic: str, pushdown: str
) -> None:
    """Spark keeps one plan for all scans of a `load()`: a narrowed one would be that of the last filter."""
    other = spark.newSession()
    other.conf.set(PUSHDOWN, pushdown)
    rows = table(other, odradek_shared_broker, subscribe=topic)
    one, two = rows.where("partition = 1"), rows.where("partition = 2")
    assert one.union(two).count() == 20
    assert one.select("offset").join(two.select("offset"), "offset").count() == 10
    assert (rows.where("offset < 2").count(), rows.count()) == (6, 30)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"subscribe": "batch-none"}, "NoSuchTopic: topic batch-none does not exist; create it"),
        ({"subscribe": "a", "startingOffset": "1"}, "option startingoffset: there is no such option; did you mean"),
        ({"subscribe": "a", "kafka.acks": "1"}, "option kafka.acks: there is no such option"),
        ({"subscribe": "a", "endingOffsets": "{"}, "option endingOffsets: expected for example {"),
    ],
)
def test_errors_are_told_in_one_line(
    spark: SparkSession, odradek_shared_broker: RunningBroker, options: dict[str, str], told: str
) -> None:
    with pytest.raises(AnalysisException) as failed:
        table(spark, odradek_shared_broker, **options).count()
    first, *others = str(failed.value).splitlines()
    assert told in first
    assert not any("Traceback" in line for line in others)


def test_the_columns_cannot_be_chosen_by_a_schema(
    spark: SparkSession, odradek_shared_broker: RunningBroker, topic: str
) -> None:
    reader = spark.read.format("odradek").schema("value STRING")
    rows = reader.option("kafka.bootstrap.servers", odradek_shared_broker.bootstrap).option("subscribe", topic).load()
    with pytest.raises(AnalysisException, match="option schema: the columns are those of Kafka"):
        rows.count()
