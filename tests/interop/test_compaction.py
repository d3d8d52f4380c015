"""Compaction next to Apache Kafka's: each cleans a copy of the same directory, and the same batches are left."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer

from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.batch import BatchHead
from odradek.records.record import Record, read_records
from odradek.storage import batches, checkpoint, names
from odradek.testing import running_broker
from support.apache_kafka import ApacheKafka
from support.one_node import one_node
from support.steady_clients import read_messages
from support.waiting import until

SETTINGS = one_node()
NO_CLEANER = {"log.cleaner.enable": "false"}
EAGER = {"log.cleaner.backoff.ms": "100"}
TOPIC = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.001"}
LIMIT_S = 60
Write = Callable[[str, str], None]


def send(producer: Producer, topic: str, count: int, rng: Random) -> None:
    """Keys that come again, some tombstones, headers, batches of many sizes."""
    for number in range(count):
        value = None if rng.random() < 0.1 else rng.randbytes(rng.randrange(100, 1500))
        headers: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("empty", None)] if number % 5 == 0 else []
        producer.produce(topic, value, f"key {rng.randrange(400)}".encode(), 0, headers=headers)
        if rng.random() < 0.05:
            assert producer.flush(LIMIT_S) == 0
    assert producer.flush(LIMIT_S) == 0


def write_with(codec: str) -> Write:
    def write(bootstrap: str, topic: str) -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5})
        send(producer, topic, 4000, Random(1))

    return write


def write_idempotent(bootstrap: str, topic: str) -> None:
    for number in range(3):
        send(Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True}), topic, 1500, Random(number))


def write_transactions(bootstrap: str, topic: str) -> None:
    """Committed and aborted ones of two producers side by side; the last of one is aborted."""
    rng = Random(3)
    producers = [Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic} {each}"}) for each in range(2)]
    for producer in producers:
        producer.init_transactions(LIMIT_S)
    for number in range(30):
        for producer in producers:
            producer.begin_transaction()
            send(producer, topic, 60, rng)
        for at, producer in enumerate(producers):
            if (number + at) % 3 == 0:
                producer.abort_transaction(LIMIT_S)
            else:
                producer.commit_transaction(LIMIT_S)
    send(Producer({"bootstrap.servers": bootstrap}), topic, 1200, rng)


TOPICS: dict[str, Write] = {
    "plain": write_with("none"),
    "gzip": write_with("gzip"),
    "snappy": write_with("snappy"),
    "lz4": write_with("lz4"),
    "zstd": write_with("zstd"),
    "idempotent": write_idempotent,
    "transactions": write_transactions,
}


@dataclass(frozen=True)
class Cleaned:
    by_kafka: Path
    by_us: Path
    expected: dict[str, list[tuple[bytes | None, bytes | None]]]
    """What readers of committed records had in the end, before anything was cleaned."""


def active_base(directory: Path) -> int:
    return int(max(directory.glob("*.log")).stem)


def is_clean(data: Path) -> bool:
    """Both write the file whole, and then rename it."""
    done = checkpoint.read_offsets(OsFiles(), str(data / names.CLEANER_OFFSETS))
    return all(done.get(TopicPartition(topic, 0), -1) >= active_base(data / f"{topic}-0") for topic in TOPICS)


def read_latest(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Each key with its last value, sorted."""
    found = {message.key(): message.value() for message in read_messages(bootstrap, [(topic, 0)], "read_committed")}
    return sorted((key, value) for key, value in found.items() if value is not None)


@pytest.fixture(scope="module")
def cleaned(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Cleaned:
    work = tmp_path_factory.mktemp("compaction")
    dirty, by_kafka, by_us = work / "dirty", work / "kafka" / "data", work / "us" / "data"
    with running_broker(directory=dirty, settings={**SETTINGS, **NO_CLEANER}) as ours:
        for topic, write in TOPICS.items():
            ours.create_topic(topic, configs=TOPIC)
            write(ours.bootstrap, topic)
        expected = {topic: read_latest(ours.bootstrap, topic) for topic in TOPICS}
    for copy in (by_kafka, by_us):
        shutil.copytree(dirty, copy)
        assert not is_clean(copy)
    with kafka.broker(by_kafka.parent, [by_kafka], {**SETTINGS, **EAGER}):
        asyncio.run(until(lambda: is_clean(by_kafka)))
    with running_broker(directory=by_us, settings={**SETTINGS, **EAGER, **OFTEN}):
        asyncio.run(until(lambda: is_clean(by_us)))
    return Cleaned(by_kafka, by_us, expected)


OFTEN = {"log.flush.offset.checkpoint.interval.ms": "200"}
"""How far a log is clean is stored with the other checkpoints."""


def left(data: Path, topic: str) -> list[tuple[BatchHead, list[Record]]]:
    """All batches, with what the two may choose themselves made the same."""
    found = []
    for path in sorted((data / f"{topic}-0").glob("*.log")):
        file = OsFiles().open_to_read(str(path))
        try:
            for _, head, batch in batches.checked(file, file.size()):
                records = list(read_records(batch, head))
                # Where deltas count from, and how well the codec did, shows in no record.
                same = head._replace(base_timestamp=head.max_timestamp, length=0, crc=0)
                found.append((same, records))
        finally:
            file.close()
    return found


@pytest.mark.parametrize("topic", TOPICS)
def test_both_leave_the_same_batches(cleaned: Cleaned, topic: str) -> None:
    ours, theirs = left(cleaned.by_us, topic), left(cleaned.by_kafka, topic)
    assert [head for head, _ in ours] == [head for head, _ in theirs]
    assert ours == theirs
    horizons = {head.attributes & 0x40 for head, _ in ours}
    assert len(horizons) == 2  # there are batches with tombstones, and without


@pytest.mark.parametrize("topic", TOPICS)
def test_both_leave_the_same_segments(cleaned: Cleaned, topic: str) -> None:
    ours, theirs = (
        sorted(path.name for path in (data / f"{topic}-0").glob("*.*index") if path.stat().st_size)
        for data in (cleaned.by_us, cleaned.by_kafka)
    )
    assert [name for name in ours if name.endswith(names.TXN_INDEX)] == [
        name for name in theirs if name.endswith(names.TXN_INDEX)
    ]
    assert {name.split(".")[0] for name in ours} == {name.split(".")[0] for name in theirs}


def test_apache_kafka_reads_what_is_left(cleaned: Cleaned, kafka: ApacheKafka) -> None:
    with kafka.broker(cleaned.by_us.parent, [cleaned.by_us], {**SETTINGS, **NO_CLEANER}) as running:
        assert {topic: read_latest(running.address, topic) for topic in TOPICS} == cleaned.expected


def test_we_read_what_apache_kafka_left(cleaned: Cleaned) -> None:
    with running_broker(directory=cleaned.by_kafka, settings={**SETTINGS, **NO_CLEANER}) as ours:
        assert {topic: read_latest(ours.bootstrap, topic) for topic in TOPICS} == cleaned.expected
