"""kill -9 of a broker, of an application that passes records on in transactions, and of both, at any moment.

What the application writes is compared with what it was to read: each record once, and in order for each key.

ODRADEK_EXAMPLES=17 ./run test tests/crash/test_exactly_once_kill.py      102 kills instead of 6
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from select import select
from time import monotonic

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from odradek.testing.broker import RunningBroker, running_broker
from support.examples import examples

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("transforming_child.py")
SOURCE, TARGET, GROUP = "source", "target", "transformers"
PARTITIONS = 2
KEYS = 7
BURST = 200
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "group.min.session.timeout.ms": "1000",
}
LIMIT_S = 600
LOOK_S = 0.2
SILENT_S = 30


class Application:
    """One process after the other."""

    def __init__(self, bootstrap: str) -> None:
        self._command = [sys.executable, str(CHILD), bootstrap, SOURCE, TARGET, GROUP]
        self._process = self._launch()
        self._heard = monotonic()

    def _launch(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)

    def wait_for_transactions(self, count: int) -> None:
        until = monotonic() + LIMIT_S
        while count:
            assert monotonic() < until, "the application makes no progress"
            count -= self.has_committed(LOOK_S)

    def has_committed(self, within_s: float) -> bool:
        """Whether it told of a transaction. Started again where it gave up, or hangs.

        librdkafka may forget its request to commit offsets, and the time that it has for it, when a connection breaks.
        """
        assert self._process.stdout is not None
        is_told = bool(select([self._process.stdout], (), (), within_s)[0])
        if is_told and self._process.stdout.readline():
            self._heard = monotonic()
            return True
        if is_told or monotonic() > self._heard + SILENT_S:
            self.restart()
        return False

    def restart(self) -> None:
        self.kill()
        self._process = self._launch()
        self._heard = monotonic()

    def kill(self) -> None:
        with self._process:
            self._process.kill()


def test_each_record_is_passed_on_exactly_once(tmp_path: Path) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    with running_broker(SETTINGS, directory=tmp_path / "data") as broker:
        broker.create_topic(SOURCE, PARTITIONS)
        broker.create_topic(TARGET, PARTITIONS)
        fed = feed_and_kill(broker, rng, examples(6))
        unexpected = [line for line in broker.log if "ERROR" in line or "Traceback" in line]
        assert unexpected == []
        written = read_all(broker.bootstrap)
    assert sorted(written) == sorted(fed), "lost, repeated or invented"
    for key in range(KEYS):
        assert [value for value in written if value % KEYS == key] == [value for value in fed if value % KEYS == key]
    verified = subprocess.run(
        [sys.executable, "-m", "odradek", "log", "verify", "--deep", str(tmp_path / "data")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout


def feed_and_kill(broker: RunningBroker, rng: Random, kills: int) -> range:
    """Returns all that was fed, when the application has passed on so much."""
    application = Application(broker.bootstrap)
    try:
        for number in range(kills):
            feed(broker.bootstrap, range(number * BURST, (number + 1) * BURST))
            application.wait_for_transactions(rng.randrange(8))
            victim = rng.choice(("broker", "application", "both"))
            if victim != "broker":
                application.kill()
            if victim != "application":
                broker.kill()
                broker.start()
            if victim != "broker":
                application.restart()
        wait_until_passed_on(broker.bootstrap, application, kills * BURST)
    finally:
        application.kill()
    return range(kills * BURST)


def feed(bootstrap: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0})
    for number in numbers:
        key = number % KEYS
        producer.produce(SOURCE, key=str(key), value=str(number), partition=key % PARTITIONS)
    assert producer.flush(LIMIT_S) == 0


def wait_until_passed_on(bootstrap: str, application: Application, count: int) -> None:
    """By the offsets that the group has committed."""
    until = monotonic() + LIMIT_S
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    places = [TopicPartition(SOURCE, number) for number in range(PARTITIONS)]
    while sum(max(each.offset, 0) for each in consumer.committed(places, LIMIT_S)) < count:
        assert monotonic() < until, "not all of it is passed on"
        application.has_committed(LOOK_S)
    consumer.close()


def read_all(bootstrap: str) -> list[int]:
    """What is committed, partition by partition."""
    return [value for number in range(PARTITIONS) for value in read(bootstrap, number)]


def read(bootstrap: str, partition: int) -> Iterator[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(TARGET, partition, 0)])
    while True:
        message = consumer.poll(LIMIT_S)
        assert message is not None, "the broker does not answer"
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                break
            continue  # it tries again
        value = message.value()
        assert value is not None
        yield int(value)
    consumer.close()
