"""The sink against Apache Kafka: its transactions, in both forms, and the partitions that its Java producer takes."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest

from odradek.spark.sink.errors import BadReplay, Fenced
from odradek.spark.sink.layout import Layout
from odradek.spark.sink.link import Link
from odradek.spark.sink.options import sink_options
from odradek.spark.sink.task import Task, real_surroundings
from odradek.testing import topics
from support.apache_kafka import ApacheKafka
from support.committed_values import committed_keys, committed_values
from support.one_node import one_node
from support.sink_stage import Driver, format_at_level

SETTINGS = {**one_node(3), "group.initial.rebalance.delay.ms": "0"}
FIRST, SECOND, THIRD = [b"a", b"b", b"c"], [b"d", b"e"], [b"f"]
LIMIT_S = 300


@pytest.fixture(scope="module", params=[2, 1])
def bootstrap(
    request: pytest.FixtureRequest, kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    work = tmp_path_factory.mktemp("kafka")
    format_at_level(work / "data", request.param)
    with kafka.broker(work, [work / "data"], SETTINGS) as broker:
        yield broker.address


@pytest.fixture
def topic(bootstrap: str, request: pytest.FixtureRequest) -> str:
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    _create(bootstrap, name, 3)
    return name


def _create(bootstrap: str, name: str, partitions: int) -> None:
    host, _, port = bootstrap.partition(":")
    topics.create((host, int(port)), name, partitions, {})


@pytest.fixture
def driver(bootstrap: str, topic: str) -> Iterator[Driver]:
    link = Link(bootstrap, "tests", 30)
    yield Driver(link, bootstrap, topic)
    link.close()


def expect(bootstrap: str, topic: str, values: list[bytes]) -> None:
    """Kafka writes the ends of transactions behind its answer, so they may come a moment later."""
    until = monotonic() + LIMIT_S
    found = committed_values(bootstrap, topic)
    while len(found) < len(values) and monotonic() < until:
        found = committed_values(bootstrap, topic)
    assert sorted(found) == values


@pytest.mark.parametrize("committed", [0, 1, 2, 3])
def test_a_driver_that_dies_in_its_commits(bootstrap: str, topic: str, driver: Driver, committed: int) -> None:
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    if committed:
        driver.commit_some(prepared, committed)
    replayed = driver.prepare(0, FIRST, SECOND, THIRD)
    assert [each.transaction is None for each in replayed] == [number < committed for number in range(3)]
    driver.commit(replayed)
    expect(bootstrap, topic, [*FIRST, *SECOND, *THIRD])
    driver.commit(driver.prepare(1, [b"g"], []))
    expect(bootstrap, topic, [*FIRST, *SECOND, *THIRD, b"g"])


def test_the_second_of_two_drivers_fences_the_first(bootstrap: str, topic: str, driver: Driver) -> None:
    second = Driver(driver.link, bootstrap, topic)
    mine = driver.prepare(0, FIRST, SECOND, THIRD)
    yours = second.prepare(0, FIRST, [*SECOND, *THIRD])
    with pytest.raises(Fenced):
        driver.commit(mine)
    driver.abort(mine)
    second.commit(yours)
    expect(bootstrap, topic, [*FIRST, *SECOND, *THIRD])


def test_fewer_splits_on_replay(driver: Driver) -> None:
    driver.commit(driver.prepare(0, FIRST, SECOND, THIRD))
    with pytest.raises(BadReplay, match="batch 0, task 1: 2 rows were committed, and now there are 3"):
        driver.prepare(0, FIRST, [*SECOND, *THIRD])
    with pytest.raises(BadReplay, match="task 2: 1 rows were committed, and now there are only 2 tasks"):
        driver.commit(driver.prepare(0, FIRST, SECOND))


def test_keys_go_where_the_java_producer_puts_them(
    kafka: ApacheKafka, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    keys = [f"key-{number}" * (number % 4) + str(number) for number in range(500)]
    _create(bootstrap, f"{topic}-java", 3)
    arguments = ["--bootstrap-server", bootstrap, "--topic", f"{topic}-java"]
    arguments += ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    lines = "".join(f"{key}:{key}\n" for key in keys).encode()
    subprocess.run(
        kafka.command("org.apache.kafka.tools.ConsoleProducer", *arguments),
        input=lines,
        check=True,
        capture_output=True,
    )
    link = Link(bootstrap, "tests", 30)
    options = sink_options({"kafka.bootstrap.servers": bootstrap, "topic": topic}, streaming=False)
    task = Task(options, Layout(key=0, value=0, topic_name=topic), real_surroundings(link))
    assert task.write([pa.record_batch([keys], names=["key"])], task.new_producer()) == len(keys)
    link.close()
    theirs, ours = committed_keys(bootstrap, f"{topic}-java"), committed_keys(bootstrap, topic)
    assert len(theirs) == len(keys)
    assert sorted(theirs) == sorted(ours)
