"""Apache Kafka's scripts that send and read many records: what they print of our broker and of Kafka's.

kafka-producer-perf-test, kafka-consumer-perf-test, kafka-e2e-latency, kafka-verifiable-producer and -consumer. Rates
and times are not compared, numbers of records and bytes are.
"""

import json
import re
import time
from typing import Any

import pytest

from support.group_tools import differences
from support.script_stage import MOMENTS, WORDS, Mask, ScriptStage

Stages = list[ScriptStage]

LIMIT_S = 120
RATES: list[Mask] = [
    (r"(?m)^(\d+) records sent, .* ms 99\.9th\.?$", r"\1 records sent"),
    (r"(?m)^(\d+ warmup records sent|\d+ steady state records sent), .*$", r"\1"),
    (r"(payloads from: )\S+", r"\1a file"),
    *WORDS,
]


@pytest.fixture(scope="module", autouse=True)
def topic(scripts: Stages) -> str:
    for stage in scripts:
        stage.quietly("kafka-topics", "--create", "--topic", "load", "--partitions", "2")
    return "load"


def offsets(stage: ScriptStage, topic: str, least: int) -> None:
    """The sum of all partitions: which of them gets a record without a key is a matter of chance.

    Waits until there is that much: the marker of a transaction comes some time after its producer is answered.
    """
    deadline = time.monotonic() + LIMIT_S
    while (found := sum_of_offsets(stage, topic)) < least:
        assert time.monotonic() < deadline, f"{topic} on {stage.name} has {found} records, not {least}"
    stage.keep(f"{found} records")


def sum_of_offsets(stage: ScriptStage, topic: str) -> int:
    told = stage.quietly("kafka-get-offsets", "--topic", topic)
    return sum(int(line.rpartition(":")[2]) for line in told.splitlines()[:-1])


ONE_TRANSACTION = ("--transaction-duration-ms", "3600000")
"""So there is one marker, however long it takes. Its few records are a single batch, in one partition."""
PRODUCING = (
    ["--num-records", "2000", "--record-size", "100", "--throughput", "-1"],
    ["--num-records", "1000", "--record-size", "100", "--throughput", "5000"],
    ["--num-records", "1000", "--record-size", "10", "--throughput", "-1", "--command-property", "acks=1"],
    ["--num-records", "1000", "--payload-monotonic", "--throughput", "-1", "--warmup-records", "100"],
    [
        "--num-records",
        "100",
        "--record-size",
        "9",
        "--throughput",
        "-1",
        "--transactional-id",
        "perf",
        *ONE_TRANSACTION,
    ],
    ["--num-records", "100", "--record-size", "9", "--throughput", "-1", *ONE_TRANSACTION],
    ["--num-records", "0", "--record-size", "9", "--throughput", "-1"],
    ["--num-records", "5", "--record-size", "-9", "--throughput", "-1"],
    ["--num-records", "5", "--throughput", "-1"],
    ["--num-records", "many", "--record-size", "9", "--throughput", "-1"],
    ["--num-records", "5", "--record-size", "9", "--throughput", "-1", "--command-property", "acks=7"],
    ["--num-records", "5", "--payload-file", "/nowhere/at/all", "--throughput", "-1"],
)


PRODUCED = 2000 + 3 * 1000 + 2 * (100 + 1) + 10
"""Records of all that can work, and the markers of two transactions."""


def test_the_producer(scripts: Stages, topic: str) -> None:
    # Every five seconds it would tell how far it is.
    silent = ("--topic", topic, "--reporting-interval", "3600000")

    def case(stage: ScriptStage) -> None:
        for options in PRODUCING:
            stage.play("kafka-producer-perf-test", *silent, *options, masks=RATES)
        payload = ("--payload-file", stage.file("one|two|three"), "--payload-delimiter", r"\|")
        more = ("--num-records", "10", "--throughput", "-1")
        stage.play("kafka-producer-perf-test", *silent, *payload, *more, masks=RATES)
        stage.play("kafka-producer-perf-test", "--topic", topic, masks=RATES)
        offsets(stage, topic, PRODUCED)

    assert differences(case, scripts) == ""


def test_the_consumer(scripts: Stages, topic: str) -> None:
    load = ("--num-records", "3000", "--record-size", "100", "--throughput", "-1")
    patience = ("--timeout", "60000")

    def consume(stage: ScriptStage, *options: str) -> None:
        printed = stage.quietly("kafka-consumer-perf-test", *options)
        stage.keep(re.sub(r"perf-consumer-\d+\)\s*$", "drawn by chance)", consumed(printed), flags=re.MULTILINE))

    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "consumed", "--partitions", "2")
        stage.quietly("kafka-producer-perf-test", "--topic", "consumed", *load)
        consume(stage, "--topic", "consumed", "--num-records", "3000", *patience)
        consume(stage, "--include", "consum.*", "--num-records", "3000", *patience, "--hide-header", "--group", "perf")
        consume(stage, "--topic", "consumed", "--num-records", "3000", *patience, "--fetch-size", "1000")
        consume(stage, "--topic", "consumed", "--from-latest", "--num-records", "1", "--timeout", "1000")
        consume(stage, "--topic", "consumed")
        consume(stage, "--topic", "consumed", "--include", "c.*", "--num-records", "3")
        consume(stage, "--topic", "consumed", "--num-records", "few")
        stage.quietly("kafka-topics", "--delete", "--topic", "consumed")

    assert differences(case, scripts) == ""
    assert topic


def consumed(printed: str) -> str:
    """With nothing but bytes and records in the lines that have figures: the third and the fifth of them."""
    lines = []
    for line in printed.splitlines():
        cells = line.split(", ")
        is_figures = len(cells) > 5 and cells[0][:1].isdecimal()
        lines.append(f"{cells[2]} MB, {cells[4]} records" if is_figures else line)
    return "\n".join(lines)


def test_latency_from_end_to_end(scripts: Stages, topic: str) -> None:
    masks = [(r"(?m)^(\d+)\t[\d.]+$", r"\1 latency"), (r"\d+\.\d+( ms)?", "latency"), (r"= \d+", "= latency"), *WORDS]

    def latency(stage: ScriptStage, *options: str) -> None:
        stage.play("kafka-e2e-latency", "--topic", "end-to-end", *options, masks=masks)

    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "end-to-end")
        latency(stage, "--num-records", "50", "--producer-acks", "all", "--record-size", "20")
        sizes = ("--record-key-size", "5", "--num-headers", "2", "--record-header-key-size", "3")
        more = ("--record-header-size", "4")
        latency(stage, "--num-records", "20", "--producer-acks", "1", "--record-size", "20", *sizes, *more)
        latency(stage, "--num-records", "20", "--producer-acks", "0", "--record-size", "20")
        latency(stage, "--num-records", "20", "--producer-acks", "7", "--record-size", "20")
        latency(stage, "--num-records", "20", "--record-size", "20")
        offsets(stage, "end-to-end", 70)
        stage.quietly("kafka-topics", "--delete", "--topic", "end-to-end")

    assert differences(case, scripts) == ""
    assert topic


def test_the_verifiable_producer(scripts: Stages, topic: str) -> None:
    masks = [*MOMENTS, (r'"avg_throughput":[\d.]+', '"avg_throughput":"rate"'), *WORDS]

    def verify(stage: ScriptStage, *options: str) -> None:
        stage.play("kafka-verifiable-producer", "--topic", "verified", *options, masks=masks)

    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "verified")
        verify(stage, "--max-messages", "20")
        verify(stage, "--max-messages", "5", "--acks", "1", "--value-prefix", "3", "--repeating-keys", "2")
        verify(stage, "--max-messages", "5", "--message-create-time", "1700000000000", "--throughput", "100")
        reading = ("--topic", "verified", "--group-id", "verifying", "--max-messages", "30")
        told = stage.quietly("kafka-verifiable-consumer", *reading, "--reset-policy", "earliest", "--verbose")
        stage.keep(json.dumps(records_of(told)))
        stage.quietly("kafka-topics", "--delete", "--topic", "verified")

    assert differences(case, scripts) == ""
    assert topic


def records_of(told: str) -> list[Any]:
    """What was read, without the events around it: how many records come at a time is a matter of chance."""
    events = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    fields = ("topic", "partition", "offset", "key", "value")
    return [[event[name] for name in fields] for event in events if event["name"] == "record_data"]
