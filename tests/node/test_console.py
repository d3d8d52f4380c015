"""The console against a broker: what it reads, and how the command begins and ends. No browser has a part in it."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.cli.main import main
from odradek.console.feed import Feed
from odradek.console.rows import DEAD_LETTERS, DRIVER_ALERTS, TOPICS, TRUCK_POSITIONS
from odradek.model.numbers import TimestampMs
from odradek.testing import RunningBroker, running_broker
from odradek.testing.broker import environment
from support.clock import ManualClock
from support.running_console import running_console
from support.waiting import until

START_MS = 1_772_352_000_000
LIMIT_S = 120

pytestmark = pytest.mark.slow


@contextmanager
def reading(broker: RunningBroker) -> Iterator[Feed]:
    feed = Feed({"bootstrap.servers": broker.bootstrap}, ManualClock(TimestampMs(START_MS)))
    feed.start()
    try:
        yield feed
    finally:
        feed.stop()


def wait_until(condition: Callable[[], object]) -> None:
    asyncio.run(asyncio.wait_for(until(condition), LIMIT_S))


def alert(driver: str) -> bytes:
    return json.dumps(
        {"driver": driver, "truck": "t", "since": "2026-03-01T08:00:00.000Z", "exceeded": "2026-03-01T12:30:00.000Z"}
    ).encode()


def position(truck: str, minute: int) -> bytes:
    time = f"2026-03-01T08:{minute:02}:00.000Z"
    fields = {"truck": truck, "driver": "d", "time": time, "latitude": 50.0, "longitude": 9.0, "speed_kmh": 70.0}
    return json.dumps(fields).encode()


def produce(broker: RunningBroker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def test_topics_are_waited_for(odradek_broker: RunningBroker) -> None:
    with reading(odradek_broker) as feed:
        wait_until(lambda: feed.picture.link.missing == TOPICS)
        odradek_broker.create_topic(TRUCK_POSITIONS)
        produce(odradek_broker, TRUCK_POSITIONS, position("a", 1), b"no row", position("b", 2), position("a", 3))
        wait_until(lambda: len(feed.picture.trucks) == 2)
        wait_until(lambda: TRUCK_POSITIONS not in feed.picture.link.missing)
        assert feed.picture.bad_rows == 1
        assert feed.picture.event_ms == START_MS + 3 * 60_000


def test_what_was_aborted_is_not_shown(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic(DRIVER_ALERTS)
    producer = Producer({"bootstrap.servers": odradek_broker.bootstrap, "transactional.id": "jobs"})
    producer.init_transactions(60)
    for driver, is_kept in (("first", True), ("nobody", False), ("second", True)):
        producer.begin_transaction()
        producer.produce(DRIVER_ALERTS, alert(driver))
        producer.flush(60)
        if is_kept:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    with reading(odradek_broker) as feed:
        wait_until(lambda: {each.alert.driver for each in feed.picture.overtimes} == {"first", "second"})


def test_reading_goes_on_where_it_was_when_the_broker_is_back(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic(DEAD_LETTERS, partitions=2)
    produce(odradek_broker, DEAD_LETTERS, *[b'{"reason":"late"}'] * 30)
    with reading(odradek_broker) as feed:
        wait_until(lambda: feed.picture.letters == (("late", 30),))
        odradek_broker.stop()
        wait_until(lambda: feed.picture.link.away_since_ms == START_MS)
        assert feed.picture.letters == (("late", 30),)
        odradek_broker.start()
        produce(odradek_broker, DEAD_LETTERS, *[b'{"reason":"late"}'] * 5, b'{"reason":"empty"}')
        wait_until(lambda: feed.picture.letters == (("late", 35), ("empty", 1)))
        wait_until(lambda: feed.picture.link.away_since_ms is None)


def test_another_cluster_at_the_same_address_is_read_from_its_beginning(tmp_path: Path) -> None:
    with running_broker(directory=tmp_path / "one") as broker:
        broker.create_topic(DEAD_LETTERS)
        produce(broker, DEAD_LETTERS, *[b'{"reason":"late"}'] * 9)
        with reading(broker) as feed:
            wait_until(lambda: feed.picture.letters == (("late", 9),))
            broker.stop()
            broker.directory = tmp_path / "two"
            broker.start()
            broker.create_topic(DEAD_LETTERS)
            produce(broker, DEAD_LETTERS, *[b'{"reason":"empty"}'] * 4)
            wait_until(lambda: feed.picture.letters == (("empty", 4),))


def test_a_topic_that_is_made_anew_is_read_again(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic(DRIVER_ALERTS)
    produce(odradek_broker, DRIVER_ALERTS, alert("a"), alert("b"), alert("c"))
    with reading(odradek_broker) as feed:
        wait_until(lambda: len(feed.picture.overtimes) == 3)
        assert main(["topics", "delete", DRIVER_ALERTS, "--yes", "--bootstrap", odradek_broker.bootstrap]) == 0
        wait_until(lambda: DRIVER_ALERTS in feed.picture.link.missing)
        odradek_broker.create_topic(DRIVER_ALERTS)
        produce(odradek_broker, DRIVER_ALERTS, alert("d"))
        wait_until(lambda: len(feed.picture.overtimes) == 4)


def test_the_page_is_served_and_ends_with_whoever_started_it(odradek_broker: RunningBroker) -> None:
    with running_console(odradek_broker.bootstrap) as url, urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
        assert answer.status == 200
        assert "<title>odradek</title>" in answer.read().decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(odradek_broker: RunningBroker, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "odradek", "console", "--port", "0", "--no-browser"]
    command += ["--bootstrap", odradek_broker.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"console: http://127.0.0.1:")
        process.send_signal(number)
        assert process.wait(LIMIT_S) == 0
        assert process.stderr.read() == b""


def test_a_port_that_is_taken_is_one_line(odradek_broker: RunningBroker, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["console", "--port", port, "--bootstrap", odradek_broker.bootstrap]) == 1
    assert capsys.readouterr().err == f"odradek: cannot listen on 127.0.0.1:{port}: Address already in use\n"
