"""Stop odradek, start Apache Kafka on the same directory, and everything is there; and no file of it looks wrong."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.main import main
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.apache_kafka import ApacheKafka, Broker
from support.clock import ManualClock
from support.logs import append_batch
from support.one_node import ONE_REPLICA

WRITTEN_MS = 1_794_771_400_000
"""Some seconds after the last record, so that no producer has expired."""
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
SETTINGS = {
    "node.id": "1",
    **ONE_REPLICA,
    "group.initial.rebalance.delay.ms": "0",
    # Records of one topic are old enough to be deleted, half a minute after a start: a slow machine still reads then.
    "log.initial.task.delay.ms": "3600000",
}
SEPARATOR, NULL = "\t", "<null>"

ADDED = [
    (TopicPartition("configured", 0), Codec.ZSTD, [Record(Offset(0), TimestampMs(WRITTEN_MS), b"k", b"first")]),
    (
        TopicPartition("plain", 0),
        Codec.NONE,
        [
            Record(Offset(3000), TimestampMs(WRITTEN_MS), None, b"written by odradek", (("h", b"x"), ("i", None))),
            Record(Offset(3001), TimestampMs(WRITTEN_MS + 1), b"k", None),
        ],
    ),
    (TopicPartition("txn", 1), Codec.LZ4, [Record(Offset(36), TimestampMs(WRITTEN_MS), b"after", b"an abort")]),
]
"""What odradek appends before it stops."""

Records = Counter[tuple[str, ...]]


@pytest.fixture(scope="module")
def recovered(golden_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Kafka left when it was killed, recovered by odradek, written to and stopped properly."""
    root = tmp_path_factory.mktemp("recovered")
    for name in ("d1", "d2"):
        shutil.copytree(golden_data / "crashed" / name, root / name)
    setting = Setting(ManualClock(WRITTEN_MS), lambda _topic: TopicConfig(), lambda: "0" * 32)
    dirs = LogDirs.open(OpenFiles(OsFiles()), [str(root / "d1"), str(root / "d2")], setting)
    assert len(list(dirs)) == 21
    for partition, codec, records in ADDED:
        log = dirs.get(partition)
        assert log is not None
        placed = [record._replace(offset=Offset(number)) for number, record in enumerate(records)]
        appended = append_batch(log, memoryview(build_batch(placed, BatchSpec(codec=codec))), log.epochs.latest)
        assert appended.base_offset == records[0].offset
    dirs.close()
    return root


def consume(kafka: ApacheKafka, broker: Broker, topics: list[str], isolation: str, count: int) -> Records:
    """The records of some topics, as Kafka's own consumer prints them; it does not tell which topic one is of."""
    shown = ("timestamp", "partition", "offset", "headers", "key", "value")
    arguments = ["--bootstrap-server", broker.address, "--include", "|".join(topics), "--isolation-level", isolation]
    arguments += ["--from-beginning", "--max-messages", str(count), "--timeout-ms", "120000"]
    for name in shown:
        arguments += ["--formatter-property", f"print.{name}=true"]
    arguments += ["--formatter-property", f"key.separator={SEPARATOR}", "--formatter-property", f"null.literal={NULL}"]
    ended = kafka.run(CONSUMER, *arguments, timeout_s=300)
    assert ended.status == 0, ended.err
    return Counter(tuple(line.split(SEPARATOR)) for line in ended.out.splitlines())


def as_printed(partition: str, record: list[Any]) -> tuple[str, ...]:
    offset, timestamp_type, timestamp, key, value, headers = record
    return (
        f"{'CreateTime' if timestamp_type == 1 else 'LogAppendTime'}:{timestamp}",
        f"Partition:{partition.rpartition('-')[2]}",
        f"Offset:{offset}",
        ",".join(f"{name}:{NULL if content is None else content}" for name, content in headers) or "NO_HEADERS",
        NULL if key is None else key,
        NULL if value is None else value,
    )


def expected_of(topics: list[str], golden_expected: Any, isolation: str) -> Records:
    found: Records = Counter()
    for partition, expected in golden_expected["topics"].items():
        if partition.rpartition("-")[0] in topics:
            records = expected["records"] if "records" in expected else expected[isolation]
            found.update(as_printed(partition, record) for record in records)
    for added, _, records in ADDED:
        found.update(as_printed(str(added), as_consumed(record)) for record in records)
    return found


def as_consumed(record: Record) -> list[Any]:
    def text(data: bytes | None) -> str | None:
        return None if data is None else data.decode()

    headers = [[key, text(value)] for key, value in record.headers]
    return [record.offset, 1, record.timestamp, text(record.key), text(record.value), headers]


def test_everything_is_there(
    kafka: ApacheKafka,
    recovered: Path,
    golden_expected: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    topics = sorted({partition.rpartition("-")[0] for partition in golden_expected["topics"]})
    topics = [topic for topic in topics if not topic.startswith("__")]
    assert main(["log", "verify", "--deep", str(recovered)]) == 0
    with kafka.broker(tmp_path, [recovered / "d1", recovered / "d2"], SETTINGS) as broker:
        for isolation in ("read_uncommitted", "read_committed"):
            # The open transaction is aborted as soon as Kafka finds that its time is over, if it is by this clock.
            asked = [topic for topic in topics if isolation == "read_uncommitted" or topic != "opentxn"]
            expected = expected_of(asked, golden_expected, isolation)
            assert expected.total() > 10_000
            found = consume(kafka, broker, asked, isolation, expected.total())
            assert (found - expected, expected - found) == (Counter(), Counter())
        capsys.readouterr()
        assert main(["log", "verify", str(recovered)]) == 0
        assert f"note     {recovered}/d1: is in use" in capsys.readouterr().out
    assert main(["log", "verify", "--deep", str(recovered)]) == 0
    *findings, _ = capsys.readouterr().out.splitlines()
    assert findings == []
