"""A word count of Kafka Streams, exactly once (`exactly_once_v2`), while it and the broker are killed.

Streams keeps its counts in a changelog topic, passes words on by a topic in between, and commits all of it with its
offsets in one transaction. Each count of each word is written: they must be 1, 2, 3 ... to the last, once each.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.testing import RunningBroker, running_broker
from support.apache_kafka import ApacheKafka, Unavailable, find_streams

SOURCE = Path(__file__).parent / "streams" / "WordCount.java"
LINES, COUNTS = "lines", "counts"
PARTITIONS = 2
KILLS = 10
BURST = 40
WORDS = ("odradek", "spool", "thread", "star", "stairs", "lungs", "leaves")
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "group.min.session.timeout.ms": "1000",
}
LIMIT_S = 900


class Application:
    def __init__(self, command: list[str], output: Path) -> None:
        self._command = command
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def kill(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None


class Reader:
    """What is committed of the counts, as it comes."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 200,
            }
        )
        self._consumer.assign([TopicPartition(COUNTS, number, 0) for number in range(PARTITIONS)])
        self.counts: dict[str, list[int]] = {}
        self.seen = 0

    def read(self, count: int) -> None:
        """Until there are so many in all."""
        until = monotonic() + LIMIT_S
        while self.seen < count:
            assert monotonic() < until, f"{self.seen} of {count} counts are written"
            message = self._consumer.poll(1)
            if message is None or message.error() is not None:
                continue  # it goes on when the broker is back
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            self.counts.setdefault(key.decode(), []).append(int(value))
            self.seen += 1

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def streams() -> str:
    try:
        return find_streams()
    except Unavailable as reason:
        pytest.skip(str(reason))


@contextmanager
def counting(kafka: ApacheKafka, streams: str, broker: RunningBroker, work: Path) -> Iterator[Application]:
    built = work / "classes"
    kafka.compile([SOURCE], built, [streams])
    arguments = (broker.bootstrap, LINES, COUNTS, str(work / "state"))
    command = kafka.command("WordCount", *arguments, classes=[built, Path(streams)])
    application = Application(command, work / "output")
    application.start()
    try:
        yield application
    finally:
        application.kill()


def test_counts_are_right_through_kills(kafka: ApacheKafka, streams: str, tmp_path: Path) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    fed: Counter[str] = Counter()
    with running_broker(SETTINGS, directory=tmp_path / "data") as broker:
        broker.create_topic(LINES, PARTITIONS)
        broker.create_topic(COUNTS, PARTITIONS)
        reader = Reader(broker.bootstrap)
        with counting(kafka, streams, broker, tmp_path) as application:
            for number in range(KILLS):
                before = fed.total()
                feed(broker.bootstrap, fed, rng)
                reader.read(before + rng.randrange(fed.total() - before))
                kill(broker, application, ("broker", "application", "both")[number % 3])
            feed(broker.bootstrap, fed, rng)
            reader.read(fed.total())
        reader.close()
        again = Reader(broker.bootstrap)  # with the application gone, nothing more can come
        again.read(fed.total())
        again.close()
    assert again.counts == {word: list(range(1, count + 1)) for word, count in fed.items()}
    assert reader.counts == again.counts


def feed(bootstrap: str, fed: "Counter[str]", rng: Random) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0})
    for _ in range(BURST):
        words = rng.choices(WORDS, k=rng.randint(1, 6))
        producer.produce(LINES, " ".join(words))
        fed.update(words)
    assert producer.flush(LIMIT_S) == 0


def kill(broker: RunningBroker, application: Application, victim: str) -> None:
    if victim != "broker":
        application.kill()
    if victim != "application":
        broker.kill()
        broker.start()
    if victim != "broker":
        application.start()
