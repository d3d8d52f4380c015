"""The nouns of the command line that speak to a broker, against Apache Kafka's."""

import io
import json
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from odradek.cli.main import main
from support.apache_kafka import ApacheKafka, Broker
from support.kafka_tools import KafkaTools
from support.one_node import ONE_REPLICA

TOPICS = "org.apache.kafka.tools.TopicCommand"
LIMIT_S = 60
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"

Odradek = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def broker(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with kafka.new_broker(tmp_path_factory.mktemp("kafka"), ONE_REPLICA) as broker:
        yield broker


@pytest.fixture
def odradek(broker: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Odradek:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", broker.address)

    def run(*arguments: str, given: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        status = main(arguments)
        return status, *capfd.readouterr()

    return run


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline


def test_topics(odradek: Odradek, tools: KafkaTools, broker: Broker) -> None:
    created = odradek("topics", "create", "orders", "--partitions", "3", "--config", "retention.ms=60000")
    assert created == (0, "created orders\n", "")
    status, _, err = odradek("topics", "create", "orders")
    assert (status, err) == (1, "odradek: orders: Topic 'orders' already exists. (TOPIC_ALREADY_EXISTS)\n")
    assert odradek("topics", "alter", "orders", "--partitions", "4", "--config", "cleanup.policy=compact") == (
        0,
        "altered orders\n",
        "",
    )

    def described_by_kafka() -> str:
        return tools.run(TOPICS, "--bootstrap-server", broker.address, "--describe", "--topic", "orders").out

    wait_until(lambda: "PartitionCount: 4" in described_by_kafka())  # committed already, and known a moment later
    theirs = described_by_kafka()
    (described,) = [json.loads(line) for line in odradek("topics", "describe", "orders", "--json")[1].splitlines()]
    assert f"TopicId: {described['topic_id']}" in theirs
    assert described["configs"] == {"cleanup.policy": "compact", "retention.ms": "60000"}
    assert [(each["leader"], each["replicas"], each["start"], each["end"]) for each in described["partitions"]] == [
        (1, [1], 0, 0)
    ] * 4
    assert "orders" in odradek("topics", "list")[1]
    assert odradek("topics", "delete", "orders", "--yes") == (0, "deleted orders\n", "")
    assert odradek("topics", "delete", "none")[0] == 1


def test_settings(odradek: Odradek) -> None:
    odradek("topics", "create", "settings")
    assert odradek("configs", "set", "topics/settings", "retention.ms=long")[2].endswith("(INVALID_CONFIG)\n")
    assert odradek("configs", "set", "topics/settings", "retention.ms=5", "--dry-run")[0] == 0
    assert odradek("configs", "set", "topics/settings", "retention.ms=6")[0] == 0
    assert odradek("configs", "set", "brokers/1", "log.cleaner.threads=2")[0] == 0
    assert odradek("configs", "set", "brokers", "log.retention.ms=777")[0] == 0

    def shown(resource: str) -> dict[str, tuple[str, str]]:
        objects = [json.loads(line) for line in odradek("configs", "describe", resource, "--json")[1].splitlines()]
        return {each["name"]: (each["value"], each["source"]) for each in objects}

    # A change is committed when the answer comes, and reaches the broker a moment later.
    wait_until(lambda: shown("brokers/1").get("log.cleaner.threads") == ("2", "broker"))
    wait_until(lambda: shown("brokers").get("log.retention.ms") == ("777", "brokers"))
    assert shown("topics/settings")["retention.ms"] == ("6", "topic")
    assert odradek("configs", "unset", "brokers", "log.retention.ms")[0] == 0
    assert odradek("configs", "unset", "topics/settings", "retention.ms")[0] == 0
    wait_until(lambda: "retention.ms" not in shown("topics/settings"))


def test_records(odradek: Odradek, kafka: ApacheKafka, broker: Broker) -> None:
    odradek("topics", "create", "records", "--partitions", "2")
    wait_until(lambda: odradek("topics", "describe", "records")[0] == 0)  # for as long as that takes
    given = b'{"key": "k", "value": "v", "partition": 1, "timestamp": 1700000000000, "headers": {"h": "x"}}\n'
    assert odradek("produce", "records", "--json", given=given) == (0, "", "1 record acknowledged\n")
    assert odradek("produce", "records", "--partition", "0", "--compression", "lz4", given=b"a\nb\n")[0] == 0
    options = ["--formatter-property", "print.key=true", "--formatter-property", "print.headers=true"]
    theirs = kafka.run(
        CONSUMER,
        "--bootstrap-server",
        broker.address,
        "--topic",
        "records",
        "--from-beginning",
        "--max-messages",
        "3",
        *options,
    )
    assert sorted(theirs.out.splitlines()) == ["NO_HEADERS\tnull\ta", "NO_HEADERS\tnull\tb", "h:x\tk\tv"]
    status, out, _ = odradek("consume", "records", "--from-beginning", "--until-end", "--json")
    assert status == 0
    found = {each["value"]: each for each in map(json.loads, out.splitlines())}
    assert sorted(found) == ["a", "b", "v"]
    assert (found["v"]["key"], found["v"]["timestamp"], found["v"]["partition"]) == ("k", 1700000000000, 1)
    assert odradek("consume", "records", "--offset", "-1", "--partition", "0", "--until-end")[1] == "b\n"
    assert odradek("consume", "none") == (1, "", "odradek: Topic 'none' does not exist\n")
