"""Apache Kafka's script for directories, on those of ours; and our broker on what it formatted.

kafka-storage. kafka-dump-log is in test_dump_against_kafka.py.
"""

import re
from pathlib import Path

import pytest

from odradek.metadata.uuids import to_text
from odradek.testing import running_broker
from support.apache_kafka import ApacheKafka
from support.ended import Ended

STORAGE = "kafka.tools.StorageTool"
CLUSTER_ID = to_text(bytes(range(16)))


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    """Of a node whose directory is not there yet."""
    lines = (
        "process.roles=broker,controller",
        "node.id=1",
        "controller.quorum.voters=1@127.0.0.1:9093",
        "controller.listener.names=CONTROLLER",
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        f"log.dirs={tmp_path / 'data'}",
    )
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A directory of ours with some topics, which nobody uses any more."""
    directory = tmp_path / "used"
    with running_broker(directory=directory) as broker:
        broker.create_topic("orders", partitions=2, configs={"retention.ms": "777000"})
        broker.create_topic("payments")
    return directory


def succeeded(ended: Ended) -> str:
    assert ended.status == 0, ended.out + ended.err
    return ended.out


def test_what_kafka_formats_we_use(kafka: ApacheKafka, properties: Path) -> None:
    data = properties.parent / "data"
    succeeded(kafka.run(STORAGE, "format", "--cluster-id", CLUSTER_ID, "--config", str(properties)))
    with running_broker(directory=data) as broker:
        broker.create_topic("orders")
    assert f"cluster.id={CLUSTER_ID}\n" in (data / "meta.properties").read_text(encoding="utf-8")
    assert (data / "orders-0").is_dir()


def test_kafka_knows_our_directories(kafka: ApacheKafka, properties: Path, used: Path) -> None:
    used.rename(properties.parent / "data")
    told = succeeded(kafka.run(STORAGE, "info", "--config", str(properties)))
    assert f"Found log directory:\n  {properties.parent / 'data'}\n" in told
    assert re.search(r"Found metadata: \{cluster\.id=[\w-]{22}, directory\.id=[\w-]{22}, node\.id=1, version=1\}", told)
    again = kafka.run(STORAGE, "format", "--cluster-id", CLUSTER_ID, "--config", str(properties))
    assert again.status == 1
    ignoring = ("format", "--ignore-formatted", "--cluster-id", CLUSTER_ID, "--config", str(properties))
    assert kafka.run(STORAGE, *ignoring).status == 1  # it belongs to another cluster
