"""Apache Kafka's tool for transactions and `odradek transactions`, each on Kafka's broker and on ours.

What a tool prints of one broker it prints of the other, and what hangs on either can be found and aborted with both.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from odradek.cli.main import main
from odradek.model import topic_partition
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.process.clock import SystemClock
from support import hanging
from support.apache_kafka import ApacheKafka
from support.ended import Ended
from support.group_tools import Stage, differences
from support.kafka_tools import KafkaTools
from support.same_answers import SETTINGS
from support.steady_clients import read_all
from support.two_brokers import two_brokers

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
HOUR_MS = 3_600_000
LIMIT_S = 300
OPEN_MS = 900_000
"""For a transaction that stays open while tools look at it, one after the other: as long as brokers allow."""
STRANGER, EPOCH = ProducerId(4_711_000), 3


Odradek = Callable[..., Ended]


@pytest.fixture(scope="module")
def stages(kafka: ApacheKafka, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Stage]]:
    with two_brokers(kafka, tmp_path_factory.mktemp("theirs"), SETTINGS | hanging.SETTINGS) as sides:
        yield [Stage(side.name, side.port, tools) for side in sides]


@pytest.fixture
def odradek(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[Stage], Odradek]:
    def of(stage: Stage) -> Odradek:
        def run(*arguments: str) -> Ended:
            monkeypatch.setenv("ODRADEK_BOOTSTRAP", stage.bootstrap)
            monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
            capfd.readouterr()  # where clients of the test have said something, it is not the command's
            return Ended(main(["transactions", *arguments]), *capfd.readouterr())

        return run

    return of


def create(stage: Stage, topic: str) -> None:
    # Its own words on standard error would be taken for those of the command.
    admin = AdminClient({"bootstrap.servers": stage.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result()


def begun(stage: Stage, name: str, topic: str) -> Producer:
    """A producer with a transaction that has a record in the first partition."""
    settings = {"transactional.id": name, "transaction.timeout.ms": OPEN_MS}
    producer = Producer({"bootstrap.servers": stage.bootstrap, "log_level": 0, **settings})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(topic, "of the transaction", partition=0)
    assert producer.flush(LIMIT_S) == 0
    return producer


def begin_hanging(stage: Stage, topic: str) -> Offset:
    """In the second partition, an hour ago."""
    port = int(stage.bootstrap.rpartition(":")[2])
    an_hour_ago = TimestampMs(SystemClock().now_ms() - HOUR_MS)
    return hanging.begin_hanging(port, topic_partition.TopicPartition(topic, 1), STRANGER, EPOCH, an_hour_ago)


def committed(stage: Stage, topic: str, partition: int) -> list[str]:
    """What a reader of committed records gets to see."""
    (found,) = read_all(stage.bootstrap, [(topic, partition)], "read_committed").values()
    return [value.decode() for _, value in found]


def send(stage: Stage, topic: str, value: str) -> None:
    producer = Producer({"bootstrap.servers": stage.bootstrap})
    producer.produce(topic, value, partition=1)
    assert producer.flush(LIMIT_S) == 0


def keep(stage: Stage, printed: str) -> None:
    """What is compared: no ids that the broker drew, no times and durations, no widths of columns."""
    printed = re.sub(r"\b1[6-9]\d{11}\b|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+(?= s since)", "time", printed)
    printed = re.sub(r"(time\s+)\d+\b", r"\1duration", printed)
    printed = re.sub(rf"\b(?!{STRANGER}\b)\d{{1,4}}(?=\s+(?:Ongoing|Empty|Complete|\d+\s+Ongoing))", "id", printed)
    printed = re.sub(r"(producer\"?:? )\d{1,4}\b", r"\1id", printed)
    printed = re.sub(r"((?:Ongoing|Empty|Complete\w+|^ours +\d) +)\d{1,4}\b", r"\1id", printed, flags=re.MULTILINE)
    stage.keep(re.sub(r"[ \t]+", " ", printed))


def test_kafkas_tool_prints_the_same(stages: list[Stage]) -> None:
    def case(stage: Stage) -> None:
        create(stage, "tool")
        producer = begun(stage, "tool-open", "tool")
        start = begin_hanging(stage, "tool")

        def run(*arguments: str) -> None:
            keep(stage, stage.tool(TRANSACTIONS, *arguments))

        run("list", "--transactional-id-pattern", "tool-.*")
        run("list", "--transactional-id-pattern", "nothing")
        run("list", "--transactional-id-pattern", "(")
        run("list", "--duration-filter", "3600000", "--transactional-id-pattern", "tool-.*")
        run("describe", "--transactional-id", "tool-open")
        run("describe", "--transactional-id", "nobody")
        run("find-hanging", "--topic", "tool")
        run("find-hanging", "--topic", "tool", "--partition", "0")
        run("find-hanging", "--broker-id", "1", "--topic", "tool", "--max-transaction-timeout", "30")
        run("find-hanging", "--broker-id", "1", "--topic", "tool", "--max-transaction-timeout", "90")
        run("find-hanging")
        run("abort", "--topic", "tool", "--partition", "1", "--start-offset", str(start + 1))
        run("abort", "--topic", "tool", "--partition", "1", "--start-offset", str(start))
        run("find-hanging", "--topic", "tool")
        run("describe-producers", "--topic", "tool", "--partition", "1")
        by_producer = ("--producer-id", str(STRANGER), "--coordinator-epoch", "0")
        run("abort", "--topic", "tool", "--partition", "1", *by_producer, "--producer-epoch", str(EPOCH - 1))
        producer.commit_transaction(LIMIT_S)
        while "CompleteCommit" not in stage.tool(TRANSACTIONS, "describe", "--transactional-id", "tool-open"):
            continue
        run("list", "--transactional-id-pattern", "tool-.*")

    assert differences(case, stages) == ""


def test_odradek_prints_the_same(stages: list[Stage], odradek: Callable[[Stage], Odradek]) -> None:
    def case(stage: Stage) -> None:
        create(stage, "ours")
        producer = begun(stage, "ours-open", "ours")
        start = begin_hanging(stage, "ours")

        def run(*arguments: str) -> None:
            for form in ([], ["--json"]):
                ended = odradek(stage)(*arguments, *form)
                keep(stage, f"{ended.out}{ended.err}status {ended.status}")

        run("list", "--pattern", "ours.*")
        run("list", "--pattern", "(")
        run("list", "--state", "ongoing,empty", "--pattern", "ours.*")
        run("list", "--state", "CompleteAbort", "--pattern", "ours.*")
        run("list", "--open-for", "1h")
        run("list", "--producer-id", str(STRANGER))
        run("describe", "ours-open", "nobody")
        run("producers", "--topic", "ours")
        run("producers", "--topic", "ours", "--partition", "7")
        run("producers", "--topic", "nowhere")
        run("producers", "--topic", "ours", "--broker", "5")
        run("find-hanging", "--topic", "ours")
        run("find-hanging", "--topic", "ours", "--max-transaction-timeout", "90")
        run("find-hanging", "--topic", "ours", "--max-transaction-timeout", "0")
        place = ("--topic", "ours", "--partition", "1")
        run("abort", *place, "--start-offset", str(start + 1))
        run("abort", *place, "--producer-id", str(STRANGER), "--producer-epoch", str(EPOCH - 1))
        keep(stage, odradek(stage)("abort", *place, "--start-offset", str(start)).out)
        run("find-hanging", "--topic", "ours")
        run("abort", "nobody")
        producer.commit_transaction(LIMIT_S)
        settle(odradek(stage), "ours-open")
        run("abort", "ours-open")

    assert differences(case, stages) == ""


@pytest.mark.parametrize("finding", ["kafka", "odradek"])
@pytest.mark.parametrize("on", ["Kafka", "odradek"])
def test_what_hangs_is_found_and_aborted(
    stages: list[Stage], odradek: Callable[[Stage], Odradek], on: str, finding: str
) -> None:
    """With one tool, and the other sees that it is over."""
    stage = next(each for each in stages if each.name == on)
    topic = f"hangs-{on}-{finding}"
    create(stage, topic)
    send(stage, topic, "before")
    start = begin_hanging(stage, topic)
    send(stage, topic, "behind")
    assert committed(stage, topic, 1) == ["before"]
    place = ("--topic", topic, "--partition", "1", "--start-offset", str(start))
    if finding == "kafka":
        found = stage.tool(TRANSACTIONS, "find-hanging", "--topic", topic).splitlines()[1].split()
        assert found[:6] == [topic, "1", str(STRANGER), str(EPOCH), "-1", str(start)]
        assert stage.tool(TRANSACTIONS, "abort", *place) == "status 0\n"
    else:
        (fields,) = objects(odradek(stage)("find-hanging", "--topic", topic, "--json"))
        assert (fields["partition"], fields["producer"], fields["start"]) == (1, STRANGER, start)
        assert fields["why"] == "no coordinator knows its producer"
        assert odradek(stage)("abort", *place) == Ended(
            0, f"aborted the transaction of producer {STRANGER} in {topic}-1\n", ""
        )
    assert committed(stage, topic, 1) == ["before", "behind"]
    assert len(stage.tool(TRANSACTIONS, "find-hanging", "--topic", topic).splitlines()) == 2  # titles, and the status
    assert odradek(stage)("find-hanging", "--topic", topic) == Ended(0, "", "")


def test_an_open_transaction_is_aborted_by_its_id(stages: list[Stage], odradek: Callable[[Stage], Odradek]) -> None:
    for stage in stages:
        create(stage, "by-id")
        producer = begun(stage, "by-id", "by-id")
        assert odradek(stage)("abort", "by-id")[:2] == (0, "aborted the transaction of by-id\n")
        assert [each["state"] for each in objects(odradek(stage)("describe", "by-id", "--json"))] == ["Empty"]
        assert committed(stage, "by-id", 0) == []
        with pytest.raises(Exception, match=r"_FENCED|INVALID_PRODUCER_EPOCH"):
            producer.commit_transaction(LIMIT_S)


def settle(run: Odradek, name: str) -> None:
    """Kafka answers before all is written."""
    while any(each["state"].startswith("Prepare") for each in objects(run("describe", name, "--json"))):
        continue


def objects(ended: Ended) -> list[dict[str, Any]]:
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]
