"""Whatever can be derived from a log, Apache Kafka derives as odradek did: indexes and leader epochs to the byte.

odradek writes logs of all kinds, over the protocol. Of a copy everything is removed that Kafka can make again; then
Kafka starts on it, stops, and leaves its own.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from odradek.storage import leader_epochs, names, producer_snapshot
from odradek.testing import RunningBroker, running_broker
from support.apache_kafka import ApacheKafka
from support.one_node import one_node

SETTINGS = {**one_node(), "log.cleaner.enable": "false"}
SMALL = {"segment.bytes": "1048576", "index.interval.bytes": "2000"}
INDEXES = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)
LIMIT_S = 60
OPEN_MS = 900_000
"""How long the transaction that is left open may stay so: Kafka must not end it while it has the directory."""


class Writer:
    """Sends batches of what is asked for to partition 0 of a topic."""

    def __init__(self, bootstrap: str, topic: str, **settings: Any) -> None:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, **given})
        self._topic = topic

    def send(self, count: int, size: int = 900) -> None:
        for number in range(count):
            value = f"{number} ".encode() + number.to_bytes(4, "big") * (size // 4 * (1 + number % 3) // 2)
            self.producer.produce(self._topic, value, f"k{number}".encode(), 0)
            if number % 7 == 0:  # so that batches are of many sizes
                self.flush()
        self.flush()

    def flush(self) -> None:
        assert self.producer.flush(LIMIT_S) == 0


def write_with(codec: str) -> Callable[[str, str], None]:
    def write(bootstrap: str, topic: str) -> None:
        Writer(bootstrap, topic, compression_type=codec).send(2500 if codec == "none" else 800)

    return write


def write_idempotent(bootstrap: str, topic: str) -> None:
    for _ in range(3):
        Writer(bootstrap, topic, enable_idempotence=True).send(700)


def write_transactions(bootstrap: str, topic: str) -> None:
    """Committed and aborted by two producers side by side, over several segments."""
    writers = [Writer(bootstrap, topic, transactional_id=f"{topic}-{number}") for number in range(2)]
    for writer in writers:
        writer.producer.init_transactions(LIMIT_S)
    for number in range(24):
        for writer in writers:
            writer.producer.begin_transaction()
        for writer in writers:
            writer.send(40)
        for at, writer in enumerate(writers):
            if (number + at) % 3 == 0:
                writer.producer.abort_transaction(LIMIT_S)
            else:
                writer.producer.commit_transaction(LIMIT_S)


def write_nothing(_bootstrap: str, _topic: str) -> None:
    return


TOPICS: Mapping[str, tuple[Callable[[str, str], None], Mapping[str, str]]] = {
    **{codec: (write_with(codec), SMALL) for codec in ("none", "gzip", "snappy", "lz4", "zstd")},
    "append-time": (write_with("lz4"), {**SMALL, "message.timestamp.type": "LogAppendTime"}),
    "recompressed": (write_with("none"), {**SMALL, "compression.type": "zstd"}),
    "idempotent": (write_idempotent, SMALL),
    "transactions": (write_transactions, SMALL),
    "empty": (write_nothing, SMALL),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of ours, after some restarts, stopped properly, with a transaction that is open."""
    data = tmp_path_factory.mktemp("stopped") / "data"
    with running_broker(SETTINGS, directory=data) as broker, left_open(broker):
        write_all(broker)
        broker.restart()
        Writer(broker.bootstrap, "none").send(200)
    return data


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, killed."""
    data = tmp_path_factory.mktemp("killed") / "data"
    with running_broker(SETTINGS, directory=data) as broker, left_open(broker):
        write_all(broker)
        broker.kill()
        broker.start()
        Writer(broker.bootstrap, "none").send(200)
        broker.kill()
        shutil.copytree(data, data.with_name("copy"))
        broker.start()
    return data.with_name("copy")


@contextmanager
def left_open(broker: RunningBroker) -> Iterator[None]:
    """A transaction on a topic of its own; its client is there as long as the block lasts."""
    broker.create_topic("open", configs=SMALL)
    writer = Writer(broker.bootstrap, "open", transactional_id="open", transaction_timeout_ms=OPEN_MS)
    writer.producer.init_transactions(LIMIT_S)
    writer.producer.begin_transaction()
    writer.send(300)
    yield


def write_all(broker: RunningBroker) -> None:
    for topic, (write, configs) in TOPICS.items():
        broker.create_topic(topic, configs=configs)
        write(broker.bootstrap, topic)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
    for number in range(50):
        consumer.commit(offsets=[Place("none", 0, number)], asynchronous=False)
    consumer.close()


def partitions_of(data: Path) -> dict[str, Path]:
    return {path.name: path for path in sorted(data.iterdir()) if path.is_dir() and not path.name.startswith("__cl")}


def forget(data: Path) -> None:
    """All that can be made again from the logs."""
    (data / names.CLEAN_SHUTDOWN).unlink(missing_ok=True)
    (data / names.RECOVERY_POINTS).unlink(missing_ok=True)
    for path in partitions_of(data).values():
        for file in path.iterdir():
            if file.suffix in (*INDEXES, names.SNAPSHOT) or file.name == names.LEADER_EPOCHS:
                file.unlink()


def derived_by_kafka(kafka: ApacheKafka, data: Path, work: Path) -> Path:
    """A copy, without anything derived, on which Kafka has run."""
    copy = work / "kafkas"
    shutil.copytree(data, copy)
    forget(copy)
    with kafka.broker(work, [copy], SETTINGS):
        pass
    return copy


def test_after_a_proper_stop(kafka: ApacheKafka, stopped: Path, tmp_path: Path) -> None:
    compare(stopped, derived_by_kafka(kafka, stopped, tmp_path))


def test_after_a_kill(kafka: ApacheKafka, killed: Path, tmp_path: Path) -> None:
    """Our recovery against Kafka's."""
    ours = tmp_path / "ours"
    shutil.copytree(killed, ours)
    with running_broker(SETTINGS, directory=ours):
        pass
    compare(ours, derived_by_kafka(kafka, killed, tmp_path))


def compare(ours: Path, theirs: Path) -> None:
    found = partitions_of(ours)
    assert set(found) == {f"{topic}-0" for topic in (*TOPICS, "open", "__consumer_offsets", "__transaction_state")}
    sizes = {name: sum(file.stat().st_size for file in files(path, INDEXES)) for name, path in found.items()}
    for name, path in found.items():
        other = theirs / name
        assert contents(path, (names.LOG,)) == contents(other, (names.LOG,)), name
        assert contents(path, INDEXES) == contents(other, INDEXES), name
        compare_epochs(path, other)
        compare_snapshots(path, other)
    assert len(list(files(found["none-0"], (names.LOG,)))) > 2
    assert len(list(files(found["transactions-0"], (names.TXN_INDEX,)))) > 1
    assert min(sizes[f"{topic}-0"] for topic in TOPICS if topic != "empty") > 100


def files(path: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    return (file for file in sorted(path.iterdir()) if file.suffix in suffixes)


def contents(path: Path, suffixes: tuple[str, ...]) -> dict[str, bytes]:
    """An empty index of transactions is as good as none: Kafka leaves some, where it looked for one."""
    found = {file.name: file.read_bytes() for file in files(path, suffixes)}
    return {name: data for name, data in found.items() if data or not name.endswith(names.TXN_INDEX)}


def compare_epochs(ours: Path, theirs: Path) -> None:
    """The same, but that a leader that starts begins an epoch at the end of the log, which holds nothing yet."""
    end = log_end(ours)
    found = [leader_epochs.parse((path / names.LEADER_EPOCHS).read_bytes(), str(path)) for path in (ours, theirs)]
    used = [[entry for entry in epochs.entries if entry.start < end] for epochs in found]
    assert used[0] == used[1], ours.name
    assert bool(used[0]) == (end > 0)
    assert all(entry.start <= end for epochs in found for entry in epochs.entries)


def log_end(path: Path) -> int:
    """A proper stop leaves a snapshot there, unless the log is empty."""
    return max((int(file.stem) for file in files(path, (names.SNAPSHOT,))), default=0)


def compare_snapshots(ours: Path, theirs: Path) -> None:
    """Those that both have: Kafka makes fewer of them when it recovers a log. The one of the end is among them."""
    here, there = ({file.name for file in files(path, (names.SNAPSHOT,))} for path in (ours, theirs))
    assert log_end(ours) == log_end(theirs), ours.name
    for name in here & there:
        assert producers(ours / name) == producers(theirs / name), ours / name


def producers(path: Path) -> dict[int, bytes]:
    """What each of them stands for, as it would be written alone."""
    return {
        entry.id: producer_snapshot.pack([entry]) for entry in producer_snapshot.parse(path.read_bytes(), str(path))
    }
