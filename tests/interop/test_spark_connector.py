"""Our Spark source and sink next to Spark's own Kafka connector, on Apache Kafka and on odradek.

Both brokers have the same topics, down to the bytes: Apache Kafka wrote them, and odradek has a copy of its directory.
"""

import asyncio
import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession

from odradek.testing import topics
from odradek.testing.broker import running_broker
from support.apache_kafka import ApacheKafka, format_new
from support.one_node import one_node
from support.small_spark import finished
from support.waiting import until

SETTINGS = {
    **one_node(2),
    "auto.create.topics.enable": "false",
    "log.cleaner.backoff.ms": "100",
    "log.retention.hours": "-1",
}
CONNECTORS = THEIRS, OURS = "kafka", "odradek"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100"}
NOON_MS = 1_767_268_800_000
"""2026-01-01, 12 o'clock: the time of the first record of each topic; the others follow a second apart."""
HEADERS: list[Any] = [None, [("a", b"1")], [("a", b"1"), ("a", b"2"), ("empty", b""), ("null", None)]]
_NUMBERS = itertools.count()


class Brokers(NamedTuple):
    """Their addresses."""

    kafka: str
    odradek: str


@pytest.fixture(scope="module")
def brokers(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    work = tmp_path_factory.mktemp("kafka")
    data, copied = work / "data", work / "copied"
    format_new(data)
    with kafka.broker(work, [data], SETTINGS) as broker:
        fill(broker.address)
    shutil.copytree(data, copied)
    with kafka.broker(work, [data], SETTINGS) as theirs, running_broker(SETTINGS, directory=copied) as ours:
        found = Brokers(theirs.address, ours.bootstrap)
        await_cleaned(found, "compacted")
        yield found


# --- what is in the topics


def fill(address: str) -> None:
    for codec in CODECS:
        create(address, f"codec-{codec}", 3)
        fill_plainly(address, f"codec-{codec}", codec)
    create(address, "appended", 1, {"message.timestamp.type": "LogAppendTime"})
    fill_plainly(address, "appended", "none")
    create(address, "transactions", 2)
    fill_with_transactions(address, "transactions")
    create(address, "compacted", 1, COMPACTED)
    fill_until_compacted(address, "compacted")
    create(address, "empty", 2)


def create(address: str, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> None:
    host, _, port = address.rpartition(":")
    topics.create((host, int(port)), name, partitions, configs or {})


def fill_plainly(address: str, topic: str, codec: str) -> None:
    """Keys and values of all kinds, headers of all kinds, several records in a batch."""
    producer = Producer({"bootstrap.servers": address, "compression.type": codec, "linger.ms": 20})
    partitions = 1 if topic == "appended" else 3
    for number in range(60):
        key = (None, b"", f"key {number % 7}".encode())[number % 3]
        value = (None, b"", os.urandom(8) * 40, f"value {number}".encode())[number % 4]
        headers = HEADERS[number % len(HEADERS)]
        time_ms = NOON_MS + number * 1000
        producer.produce(topic, value, key, number % partitions, timestamp=time_ms, headers=headers)
    assert producer.flush(60) == 0


def fill_with_transactions(address: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": address, "transactional.id": topic})
    producer.init_transactions()
    for number in range(6):
        producer.begin_transaction()
        for record in range(5):
            producer.produce(topic, f"{number} {record}", None, record % 2)
        producer.flush()
        if number % 3 == 1:
            producer.abort_transaction()
        else:
            producer.commit_transaction()


def fill_until_compacted(address: str, topic: str) -> None:
    """The active segment stays as it is, so records come until the first is gone."""
    producer = Producer({"bootstrap.servers": address})
    for number in range(50):
        producer.produce(topic, None if number == 40 else f"value {number}", f"key {number % 5}")

    def compacted() -> bool:
        producer.produce(topic, "last", "key of the end")
        assert producer.flush(60) == 0
        return first_offset(address, topic) > 0

    asyncio.run(until(compacted))


def first_offset(address: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "first", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        (message,) = consumer.consume(1, 60)
        return message.offset() or 0
    finally:
        consumer.close()


def await_cleaned(brokers: Brokers, topic: str) -> None:
    """Both clean what is left to clean when they start, each in its own time: now it is the same, and stays so."""
    before: list[list[int]] = []
    while (seen := [offsets_in(address, topic) for address in brokers]) != before or seen[0] != seen[1]:
        before = seen
        time.sleep(1)


def offsets_in(address: str, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "all", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    try:
        _, end = consumer.get_watermark_offsets(place, 60)
        consumer.assign([place])
        found = [-1]
        while found[-1] < end - 1:
            (message,) = consumer.consume(1, 60)
            found.append(message.offset() or 0)
        return found
    finally:
        consumer.close()


# --- reading


def read(spark: SparkSession, connector: str, address: str, **options: str) -> DataFrame:
    reader = spark.read.format(connector).option("kafka.bootstrap.servers", address)
    return reader.options(**options).load()


def plain(rows: DataFrame) -> list[tuple[Any, ...]]:
    """What can be compared, in the order of the log."""
    return sorted(
        (
            row.topic,
            row.partition,
            row.offset,
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            row.timestamp,
            row.timestampType,
            headers_of(row),
        )
        for row in rows.collect()
    )


def headers_of(row: Any) -> list[tuple[str, bytes | None]] | None:
    if "headers" not in row or row.headers is None:
        return None
    return [(each.key, None if each.value is None else bytes(each.value)) for each in row.headers]


ALL = ",".join([*(f"codec-{codec}" for codec in CODECS), "appended", "transactions", "compacted", "empty"])
MIDDLE_MS = NOON_MS + 20_000
CASES: dict[str, dict[str, str]] = {
    "everything": {"subscribe": ALL, "includeHeaders": "true"},
    "committed": {"subscribe": "transactions,codec-none", "kafka.isolation.level": "read_committed"},
    "a pattern": {"subscribePattern": "codec-.*d"},
    "a part of names": {"subscribePattern": "ec-[lz]"},
    "partitions": {"assign": '{"codec-lz4": [0, 2], "transactions": [1]}'},
    "offsets": {
        "subscribe": "codec-gzip",
        "startingOffsets": '{"codec-gzip": {"0": 3, "1": -2, "2": 20}}',
        "endingOffsets": '{"codec-gzip": {"0": 9, "1": -1, "2": 20}}',
    },
    "times": {"subscribe": "codec-none", "startingTimestamp": str(MIDDLE_MS), "endingTimestamp": str(MIDDLE_MS + 9000)},
    "times of partitions": {
        "subscribe": "codec-zstd",
        "startingOffsetsByTimestamp": json.dumps({"codec-zstd": {"0": NOON_MS, "1": MIDDLE_MS, "2": NOON_MS + 10**9}}),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "pieces": {"subscribe": "codec-snappy,compacted", "minPartitions": "9"},
    "small pieces": {"subscribe": "compacted,transactions", "maxRecordsPerPartition": "7"},
}


@pytest.mark.parametrize("case", CASES)
def test_both_read_the_same_from_both(connector_spark: SparkSession, brokers: Brokers, case: str) -> None:
    found = {
        (connector, broker): read(connector_spark, connector, address, **CASES[case])
        for connector in CONNECTORS
        for broker, address in brokers._asdict().items()
    }
    expected = found[THEIRS, "kafka"]
    rows = plain(expected)
    assert rows
    for place, each in found.items():
        assert each.schema == expected.schema, place
        assert plain(each) == rows, place


def test_what_is_compared_has_all_kinds(connector_spark: SparkSession, brokers: Brokers) -> None:
    """Or two readers that see too little would look alike."""
    rows = plain(read(connector_spark, OURS, brokers.odradek, **CASES["everything"]))
    per_topic = {topic: list(group) for topic, group in itertools.groupby(rows, lambda row: row[0])}
    assert {len(per_topic[f"codec-{codec}"]) for codec in CODECS} == {60}
    assert {row[6] for row in per_topic["appended"]} == {1}
    assert {row[6] for row in per_topic["codec-none"]} == {0}
    assert len(per_topic["transactions"]) == 30
    assert len(plain(read(connector_spark, OURS, brokers.odradek, **CASES["committed"]))) == 60 + 20
    assert per_topic["compacted"][0][2] > 0
    kinds = {(row[3] is None, row[4] is None, row[7] is None) for row in rows}
    assert {each[0] for each in kinds} == {each[1] for each in kinds} == {each[2] for each in kinds} == {True, False}


# --- writing


@pytest.mark.parametrize("broker", Brokers._fields)
def test_both_write_the_same(connector_spark: SparkSession, brokers: Brokers, broker: str) -> None:
    """Rows, headers, and the partitions that keys go to."""
    address = getattr(brokers, broker)
    rows = connector_spark.range(40).selectExpr(
        "CASE WHEN id % 5 = 0 THEN NULL ELSE concat('key ', id) END AS key",
        "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('value ', id) END AS value",
        "CASE WHEN id % 3 = 0 THEN array(struct('id' AS key, binary(string(id)) AS value)) END AS headers",
        "CASE WHEN id % 5 = 0 THEN int(id % 4) END AS partition",
    )
    written = {}
    for connector in CONNECTORS:
        topic = f"written-by-{connector}"
        create(address, topic, 4)
        options = {"kafka.bootstrap.servers": address, "topic": topic, "includeHeaders": "true"}
        rows.write.format(connector).options(**options).mode("append").save()
        by_both = [
            plain(read(connector_spark, each, address, subscribe=topic, includeHeaders="true")) for each in CONNECTORS
        ]
        assert by_both[0] == by_both[1]
        # Not offsets and times: tasks run side by side.
        written[connector] = sorted((row[1], str(row[3]), str(row[4]), str(row[7])) for row in by_both[0])
    assert len(written[OURS]) == 40
    assert written[OURS] == written[THEIRS]


# --- going on


@pytest.mark.parametrize("broker", Brokers._fields)
def test_a_checkpoint_of_the_connector_is_continued(
    connector_spark: SparkSession, brokers: Brokers, broker: str, tmp_path: Path
) -> None:
    address = getattr(brokers, broker)
    topic = f"continued-{next(_NUMBERS)}"
    create(address, topic, 3)
    seen: list[tuple[int, int, bytes]] = []

    def take(batch: DataFrame, _number: int) -> None:
        seen.extend((row.partition, row.offset, bytes(row.value)) for row in batch.collect())

    sent: list[bytes] = []
    producer = Producer({"bootstrap.servers": address})
    for connector in (THEIRS, OURS, OURS):
        more = [f"{connector} {len(sent) + number}".encode() for number in range(30)]
        for number, value in enumerate(more):
            producer.produce(topic, value, partition=number % 3)
        assert producer.flush(60) == 0
        sent += more
        run_to_the_end(connector_spark, connector, address, topic, tmp_path, take)
        assert sorted(value for _, _, value in seen) == sorted(sent)
    assert len({(partition, offset) for partition, offset, _ in seen}) == len(seen)


def run_to_the_end(
    spark: SparkSession,
    connector: str,
    address: str,
    topic: str,
    checkpoint: Path,
    take: Callable[[DataFrame, int], None],
) -> None:
    options = {"kafka.bootstrap.servers": address, "subscribe": topic, "startingOffsets": "earliest"}
    stream = spark.readStream.format(connector).options(**options, maxOffsetsPerTrigger="12").load()
    query = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    finished(query.trigger(availableNow=True).start)
