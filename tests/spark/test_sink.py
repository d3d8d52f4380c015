"""What Spark writes through the sink is in the topics: rows, keys, headers, partitions; and what it refuses."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.spark import register
from odradek.testing.broker import RunningBroker, running_broker
from support.committed_values import committed_values

Finished = Callable[[Callable[[], StreamingQuery]], StreamingQuery]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker({"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture
def topic(broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    broker.create_topic(name, 3)
    return name


def write(frame: DataFrame, broker: RunningBroker, **options: str) -> None:
    given = {"kafka.bootstrap.servers": broker.bootstrap, **options}
    frame.write.format("odradek").options(**given).mode("append").save()


def test_a_frame_is_written_and_read_again(spark: SparkSession, broker: RunningBroker, topic: str) -> None:
    rows = spark.range(1000).selectExpr(
        "cast(id as string) as key",
        "encode(concat('value ', id), 'utf-8') as value",
        "if(id % 2 = 0, null, array(named_struct('key', 'odd', 'value', cast('x' as binary)))) as headers",
        "'ignored' as something",
    )
    write(rows, broker, topic=topic, **{"kafka.compression.type": "zstd"})
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "includeHeaders": "true"}
    found = spark.read.format("odradek").options(**options).load().collect()
    assert sorted((int(row.key), row.value.decode()) for row in found) == [(n, f"value {n}") for n in range(1000)]
    assert all((row.headers is None) == (int(row.key) % 2 == 0) for row in found)
    assert {(row.partition, int(row.key)) for row in found} == {
        (number, int(key)) for number, key in _placed_by_librdkafka(broker, topic, 1000)
    }


def test_threads_write_where_the_session_was_registered_in_them(
    spark: SparkSession, broker: RunningBroker, topic: str
) -> None:
    """Spark itself finds no source in Python there."""

    def write_in_thread(number: int) -> None:
        register(spark)
        write(spark.range(number, number + 1).selectExpr("string(id) value"), broker, topic=topic)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write_in_thread, range(4)))
    assert sorted(committed_values(broker.bootstrap, topic)) == [b"0", b"1", b"2", b"3"]


def _placed_by_librdkafka(broker: RunningBroker, topic: str, count: int) -> set[tuple[int, str]]:
    """Where murmur2 puts these keys by another implementation."""
    from confluent_kafka import Producer

    other = f"{topic}-other"
    broker.create_topic(other, 3)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2"})
    for number in range(count):
        producer.produce(other, key=str(number), value=b"")
    producer.flush()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "placed", "enable.partition.eof": True})
    consumer.assign([TopicPartition(other, number, OFFSET_BEGINNING) for number in range(3)])
    placed, ends = set[tuple[int, str]](), 0
    while ends < 3:
        message = consumer.poll(60)
        assert message is not None
        error = message.error()
        if error is None:
            placed.add((message.partition() or 0, (message.key() or b"").decode()))
        else:
            assert error.code() == KafkaError._PARTITION_EOF
            ends += 1
    consumer.close()
    return placed


def test_rows_name_their_topic_and_partition(spark: SparkSession, broker: RunningBroker, topic: str) -> None:
    other = f"{topic}-other"
    broker.create_topic(other, 2)
    rows = [("a", topic, 2), ("b", other, 1), ("c", topic, 2), ("d", other, 0)]
    write(spark.createDataFrame(rows, "value string, topic string, partition int"), broker)
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": f"{topic},{other}"}
    found = spark.read.format("odradek").options(**options).load().collect()
    assert sorted((row.value.decode(), row.topic, row.partition) for row in found) == rows


def test_a_stream_writes_exactly_once(
    spark: SparkSession, broker: RunningBroker, topic: str, tmp_path: Path, finished: Finished
) -> None:
    (tmp_path / "in").mkdir()
    frame = spark.readStream.schema("value string").text(str(tmp_path / "in"))
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "exactlyOnce": "true"}

    def start() -> StreamingQuery:
        return (
            frame.writeStream.format("odradek")
            .options(**options)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    def feed(number: int) -> None:
        (tmp_path / "in" / f"{number}.txt").write_text("".join(f"{number}-{row}\n" for row in range(50)))

    for number in range(3):
        feed(number)
        finished(start)
        if not number:
            shutil.copytree(tmp_path / "checkpoint", tmp_path / "backup")
    expected = sorted(f"{number}-{row}".encode() for number in range(3) for row in range(50))
    assert sorted(committed_values(broker.bootstrap, topic)) == expected

    # A backup of the checkpoint, and rows that are new: they are not to be passed over with those that are not.
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.copytree(tmp_path / "backup", tmp_path / "checkpoint")
    feed(3)
    with pytest.raises(Exception, match=r"batch 1, task \d: batch 2 was committed, so the checkpoint is older"):
        finished(start)
    assert sorted(committed_values(broker.bootstrap, topic)) == expected


def test_a_batch_write_that_runs_again_is_recognised(spark: SparkSession, broker: RunningBroker, topic: str) -> None:
    rows = spark.range(0, 100, 1, 3).selectExpr("cast(id as string) as value")
    once = {"topic": topic, "exactlyOnce": "true", "txnAppId": "nightly", "txnVersion": "7"}
    write(rows, broker, **once)
    write(rows, broker, **once)
    expected = sorted(str(number).encode() for number in range(100))
    assert sorted(committed_values(broker.bootstrap, topic)) == expected
    with pytest.raises(PySparkException, match=r"query nightly, batch 7, task 0: .* rows were committed"):
        write(rows.where("value <> '0'"), broker, **once)
    write(rows, broker, **{**once, "txnVersion": "8"})
    assert len(committed_values(broker.bootstrap, topic)) == 200


def test_a_task_that_fails_leaves_nothing_of_its_job(spark: SparkSession, broker: RunningBroker, topic: str) -> None:
    rows = spark.range(0, 10, 1, 2).selectExpr("cast(id as string) as value", f"if(id = 9, null, '{topic}') as topic")
    with pytest.raises(PySparkException, match="row 4 of this task: its topic is null"):
        write(rows, broker, exactlyOnce="true", markerTopic=topic)
    assert committed_values(broker.bootstrap, topic) == []


def test_speculation_is_refused(spark: SparkSession, broker: RunningBroker, topic: str) -> None:
    """What the session is configured with comes to tasks in this way, too."""
    spark.sparkContext.setLocalProperty("spark.speculation", "true")
    try:
        with pytest.raises(PySparkException, match=r"set spark\.speculation to false"):
            write(spark.range(1).selectExpr("'a' as value"), broker, topic=topic, exactlyOnce="true")
    finally:
        spark.sparkContext.setLocalProperty("spark.speculation", None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("1 as value", {"topic": "t"}, "column value is int; it must be STRING or BINARY"),
        ("'a' as value", {"topic": "t", "exactly_once": "true"}, "did you mean exactlyOnce"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_task_runs(
    spark: SparkSession, broker: RunningBroker, columns: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(PySparkException, match=said):
        write(spark.range(1).selectExpr(columns), broker, **options)


def test_a_topic_that_is_not_there_is_named(spark: SparkSession, broker: RunningBroker) -> None:
    options = {"topic": "nowhere", "kafka.max.block.ms": "100"}
    with pytest.raises(PySparkException, match="cannot write to topic nowhere: it does not exist; create it"):
        write(spark.range(1).selectExpr("'a' as value"), broker, **options)


def test_no_broker_is_named(spark: SparkSession, broker: RunningBroker) -> None:
    options = {"topic": "t", "kafka.max.block.ms": "100", "kafka.bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(PySparkException, match=r"cannot reach 127\.0\.0\.1:1"):
        write(spark.range(1).selectExpr("'a' as value"), broker, **options)
