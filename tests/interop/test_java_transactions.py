"""Transactions of Kafka's own producer, of either version: commits, aborts, fences, and offsets that go with them."""

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.testing import running_broker
from support.apache_kafka import ApacheKafka
from support.kafka_tools import KafkaTools

LIMIT_S = 240


@pytest.mark.parametrize("level", [2, 1, 0], ids=lambda level: f"transaction.version={level}")
def test_kafkas_producer(kafka: ApacheKafka, programs: Path, tools: KafkaTools, level: int) -> None:
    """Below level 2 it says what it will write to, and keeps its epoch."""
    with running_broker() as broker:
        for topic, partitions in (("made", 2), ("source", 1)):
            broker.create_topic(topic, partitions)
        if level < 2:
            tool = "org.apache.kafka.tools.FeatureCommand"
            change = ("--feature", f"transaction.version={level}")
            changed = tools.run(tool, "--bootstrap-server", broker.bootstrap, "downgrade", *change)
            assert changed.status == 0, changed
        plain = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(20):
            plain.produce("source", str(number))
        assert plain.flush(LIMIT_S) == 0
        arguments = (broker.bootstrap, "made", "source", "makers")
        command = kafka.command("Transactions", *arguments, classes=[programs])
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert ran.returncode == 0, ran.stderr
        lines = [line for line in ran.stdout.splitlines() if line]
    kept = [f"v{number}" for number in range(20) if number % 4 != 3]
    assert lines == [
        "fenced",
        "committed 20",
        "read 0 " + ",".join([*kept, "last"]),
        "read 1 " + ",".join([*kept, *(f"{number}!" for number in range(20))]),
    ]
