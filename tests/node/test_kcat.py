"""kcat, as one uses it at a terminal."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odradek.testing import RunningBroker, running_broker

pytestmark = pytest.mark.slow
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LIMIT_S = 60

Kcat = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker({"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture
def kcat(broker: RunningBroker) -> Kcat:
    program = shutil.which("kcat")
    if program is None:
        pytest.skip("there is no kcat on PATH (Debian has it in the package kcat)")

    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [program, "-b", broker.bootstrap, *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    return run


def read(kcat: Kcat, *arguments: str) -> list[dict[str, Any]]:
    ended = kcat("-C", "-e", "-q", "-J", *arguments)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_records_come_back_in_order_whatever_compressed_them(kcat: Kcat, broker: RunningBroker) -> None:
    broker.create_topic("orders", partitions=2)
    for codec in CODECS:
        options = ["-K:", "-H", f"codec={codec}", "-z", codec, "-X", "enable.idempotence=true", "-X", "linger.ms=500"]
        ended = kcat(
            "-P", "-t", "orders", "-p", "1", *options, given="".join(f"k{n}:{codec} {n} ü€\n" for n in range(5))
        )
        assert ended.returncode == 0, ended.stderr
    found = read(kcat, "-t", "orders", "-p", "1", "-o", "beginning")
    sent = [(f"k{n}", f"{codec} {n} ü€", ["codec", codec]) for codec in CODECS for n in range(5)]
    assert [(each["key"], each["payload"], each["headers"]) for each in found] == sent
    assert [each["offset"] for each in found] == list(range(25))
    assert [each["offset"] for each in read(kcat, "-t", "orders", "-p", "1", "-o", "7")] == list(range(7, 25))
    assert [each["offset"] for each in read(kcat, "-t", "orders", "-p", "1", "-o", "-3")] == [22, 23, 24]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_with_any_acknowledgement(kcat: Kcat, broker: RunningBroker, acks: str) -> None:
    topic = f"acks-{acks}"
    broker.create_topic(topic)
    assert kcat("-P", "-t", topic, "-X", f"acks={acks}", given="one\ntwo\n").returncode == 0
    ended = kcat("-C", "-q", "-u", "-t", topic, "-o", "beginning", "-c", "2", "-f", "%k %s\n")
    assert ended.stdout == " one\n two\n"


def test_the_broker_and_its_topics_are_listed(kcat: Kcat, broker: RunningBroker) -> None:
    broker.create_topic("listed", partitions=3)
    listed = json.loads(kcat("-L", "-J", "-t", "listed").stdout)
    assert listed["brokers"] == [{"id": 1, "name": broker.bootstrap}]
    assert [len(topic["partitions"]) for topic in listed["topics"]] == [3]


def test_offsets_are_found_by_time(kcat: Kcat, broker: RunningBroker) -> None:
    broker.create_topic("timed")
    assert kcat("-P", "-t", "timed", given="a\nb\n").returncode == 0
    first, second = read(kcat, "-t", "timed", "-o", "beginning")
    asked = kcat("-Q", "-t", f"timed:0:{first['ts']}")
    assert asked.stdout.split() == ["timed", "[0]", "offset", "0"]
    assert [each["payload"] for each in read(kcat, "-t", "timed", "-p", "0", "-o", f"s@{second['ts']}")][-1] == "b"
    asked = kcat("-Q", "-t", f"timed:0:{second['ts'] + 1}")
    assert asked.stdout.split() == ["timed", "[0]", "offset", "-1"]


def test_errors_are_told_by_their_names(kcat: Kcat, broker: RunningBroker) -> None:
    ended = kcat("-C", "-e", "-t", "nothing", "-p", "0")
    assert ended.returncode != 0
    assert "Unknown topic or partition" in ended.stderr
    broker.create_topic("small", configs={"max.message.bytes": "1000"})
    ended = kcat("-P", "-t", "small", given="x" * 5000)
    assert ended.returncode != 0
    assert "Message size too large" in ended.stderr


def test_a_group_goes_on_where_it_was(kcat: Kcat, broker: RunningBroker) -> None:
    broker.create_topic("shared", partitions=2)
    for partition in ("0", "1"):
        kcat("-P", "-t", "shared", "-p", partition, given="".join(f"{partition}/{n}\n" for n in range(5)))
    options = ["-G", "shop", "-q", "-X", "auto.offset.reset=earliest"]
    parts = [kcat(*options, *end, "shared").stdout.split() for end in (["-c", "4"], ["-e"], ["-e"])]
    assert [len(part) for part in parts] == [4, 6, 0]
    assert sorted(parts[0] + parts[1]) == [f"{partition}/{n}" for partition in (0, 1) for n in range(5)]
