"""The source next to Spark's own Kafka connector: the same rows from Apache Kafka, and its checkpoint continued."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession

from odradek.cli.main import main
from support.same_answers import Side
from support.small_spark import finished

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

Headers = list[tuple[str, str | bytes | None]] | None


@pytest.fixture(params=[0, 1], ids=["Kafka", "odradek"])
def bootstrap(request: pytest.FixtureRequest, both: tuple[Side, Side]) -> str:
    return f"127.0.0.1:{both[request.param].port}"


def create(bootstrap: str, topic: str) -> None:
    """Kept for ever: its records are years old."""
    new = NewTopic(topic, 2, 1, config={"retention.ms": "-1"})
    admin = AdminClient({"bootstrap.servers": bootstrap})  # has to live until it has the answer
    admin.create_topics([new])[topic].result()


def produce(bootstrap: str, topic: str, numbers: range, codec: str = "none", transaction: bool | None = None) -> None:
    """In a transaction that ends with a commit or an abort, if `transaction` says so; then readers see its end.

    Kafka writes the ends of transactions behind its answer, and lets nobody begin anew before that.
    """
    setting = {"bootstrap.servers": bootstrap, "compression.type": codec}
    if transaction is not None:
        setting["transactional.id"] = topic
    producer = Producer(setting)
    if transaction is not None:
        producer.init_transactions()
        producer.begin_transaction()
    for number in numbers:
        headers: Headers = [("h", str(number)), ("h", None)] if number % 3 == 0 else None
        key = None if number % 5 == 0 else f"k{number}"
        value = None if number % 7 == 0 else f"v{number}"
        producer.produce(topic, value, key, number % 2, timestamp=1_700_000_000_000 + number, headers=headers)
    producer.flush()
    if transaction is not None:
        producer.commit_transaction() if transaction else producer.abort_transaction()
        Producer(setting).init_transactions()


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.select("partition", "offset", *COLUMNS).collect())


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_both_give_the_same_rows(connector_spark: SparkSession, bootstrap: str, level: str) -> None:
    topic = f"same-{level}"
    create(bootstrap, topic)
    for number, codec in enumerate(CODECS):
        produce(bootstrap, topic, range(number * 100, number * 100 + 100), codec)
    produce(bootstrap, topic, range(500, 520), transaction=False)
    produce(bootstrap, topic, range(520, 540), transaction=True)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "includeHeaders": "true",
        "kafka.isolation.level": level,
        "minPartitions": "5",
    }
    theirs, ours = (rows(connector_spark.read.format(name).options(**options).load()) for name in ("kafka", "odradek"))
    assert len(theirs) == (540 if level == "read_uncommitted" else 520)
    assert ours == theirs


def test_a_checkpoint_of_the_connector_is_continued(
    connector_spark: SparkSession, bootstrap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = "moved"
    create(bootstrap, topic)

    def run(source: str) -> None:
        options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
        frame = connector_spark.readStream.format(source).options(**options).load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        finished(lambda: writer.trigger(availableNow=True).start(str(tmp_path / "rows")))

    def offsets() -> list[tuple[int, int]]:
        read = connector_spark.read.parquet(str(tmp_path / "rows"))
        return sorted((row.partition, row.offset) for row in read.collect())

    produce(bootstrap, topic, range(50))
    run("kafka")
    assert offsets() == [(partition, offset) for partition in range(2) for offset in range(25)]
    produce(bootstrap, topic, range(50, 80))
    run("odradek")
    expected = [(partition, offset) for partition in range(2) for offset in range(40)]
    assert offsets() == expected
    last = max((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    kept = json.loads(last.read_text().splitlines()[-1])
    assert kept[topic].keys() == {"0", "1", "id"}
    capsys.readouterr()
    assert main(["groups", "describe", kept["@group"], "--bootstrap", bootstrap]) == 0
    assert "lag 0" in capsys.readouterr().out.splitlines()[0]
    run("odradek")
    assert offsets() == expected
