"""The broker that users start in their tests: it comes up, stops, dies and comes back, and always ends."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from odradek.testing import BrokerFailed, RunningBroker, broker, running_broker

pytestmark = pytest.mark.slow
LIMIT_S = 60


def produce(at: RunningBroker, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": at.bootstrap, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(LIMIT_S) == 0


def consume(at: RunningBroker, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": at.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = consumer.consume(count, LIMIT_S)
        return [(message.value() or b"").decode() for message in found]
    finally:
        consumer.close()


def test_a_topic_is_made_with_its_partitions_and_settings(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic("orders", partitions=3, configs={"retention.ms": "60000"})
    admin = AdminClient({"bootstrap.servers": odradek_broker.bootstrap})
    assert len(admin.list_topics(timeout=LIMIT_S).topics["orders"].partitions) == 3
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
    settings = admin.describe_configs([resource])[resource].result(LIMIT_S)
    assert settings["retention.ms"].value == "60000"
    with pytest.raises(BrokerFailed, match=r"refused to create orders: .* \(code 36\)"):
        odradek_broker.create_topic("orders")


def test_what_was_acknowledged_is_there_after_a_kill_and_after_a_restart(odradek_broker: RunningBroker) -> None:
    address, first = odradek_broker.bootstrap, odradek_broker.pid
    odradek_broker.create_topic("orders")
    produce(odradek_broker, "orders", "a", "b")
    odradek_broker.kill()
    assert not odradek_broker.is_running
    with pytest.raises(BrokerFailed, match="not running"):
        _ = odradek_broker.pid
    odradek_broker.restart()
    assert odradek_broker.pid != first
    produce(odradek_broker, "orders", "c")
    odradek_broker.restart()
    assert odradek_broker.bootstrap == address
    assert consume(odradek_broker, "orders", 3) == ["a", "b", "c"]
    said = [line.split()[3] for line in odradek_broker.log if " INFO " in line]
    assert said == ["serving", "serving", "stopped", "serving"]


def test_a_stopped_broker_stays_stopped_until_it_is_started(tmp_path: Path) -> None:
    with running_broker(directory=tmp_path / "data") as running:
        running.stop()
        running.stop()
        assert not running.is_running
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", running.port))
        running.start()
        with pytest.raises(BrokerFailed, match="started already"):
            running.start()
    assert (tmp_path / "data" / "meta.properties").is_file()


def test_what_is_wrong_with_a_broker_that_does_not_start_is_told() -> None:
    with pytest.raises(BrokerFailed) as told, running_broker({"num.partitions": "none"}):
        pass
    assert "ended with status 2" in str(told.value)
    assert "odradek: --set num.partitions" in str(told.value)


def test_a_port_that_another_takes_first_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_broker() as one:
        free = broker.free_ports()
        monkeypatch.setattr(broker, "free_ports", lambda: [one.port, *free])
        with running_broker() as other:
            assert other.port in free
        monkeypatch.setattr(broker, "free_ports", lambda: [one.port])
        with pytest.raises(BrokerFailed, match="did not start"), running_broker():
            pass


def test_a_broker_that_died_is_reported_in_the_end() -> None:
    with pytest.raises(BrokerFailed, match=r"ended with status -9"), running_broker() as running:
        die(running)
    with pytest.raises(AssertionError) as failed, running_broker() as running:
        die_and_fail(running)
    assert "ended with status -9" in failed.value.__notes__[0]


def die(running: RunningBroker) -> None:
    with socket.create_connection(("127.0.0.1", running.port), LIMIT_S) as connection:
        os.kill(running.pid, signal.SIGKILL)
        wait_for_end(connection)


def die_and_fail(running: RunningBroker) -> None:
    die(running)
    raise AssertionError("what the test found")


def wait_for_end(connection: socket.socket) -> None:
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""


def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with running_broker() as running:
        assert running.directory.is_relative_to(tmp_path)
        assert os.getpgid(running.pid) != os.getpgrp()  # Ctrl-C does not reach it
    assert list(tmp_path.iterdir()) == []


HOLDER = """
import odradek.testing, sys
with odradek.testing.running_broker(directory=sys.argv[1]) as broker:
    print(broker.port, flush=True)
    sys.stdin.read()
"""


def test_it_ends_when_the_tests_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "data")]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}  # what it leaves behind
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables) as holder:
        assert holder.stdout is not None
        port = int(holder.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), LIMIT_S) as connection:
            holder.kill()
            wait_for_end(connection)
    with (tmp_path / "data" / ".lock").open("r+b") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)  # waits until it let go of its directory
    assert (tmp_path / "data" / ".kafka_cleanshutdown").is_file()


def test_an_attached_broker_wants_a_pipe() -> None:
    command = [sys.executable, "-m", "odradek", "serve", "--attached"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "odradek: --attached: standard input must be a pipe\n")
