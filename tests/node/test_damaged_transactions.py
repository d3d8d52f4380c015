"""Damage in what is kept of transactions: made again where the log says it, else refused and told, with the file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from odradek.coordinators.partitioning import partition_of
from odradek.testing import RunningBroker, running_broker
from support.steady_clients import read_all

pytestmark = pytest.mark.slow
LIMIT_S = 60
Damage = Callable[[bytes], bytes]


@pytest.fixture
def at() -> Iterator[RunningBroker]:
    with running_broker(settings={"transaction.state.log.num.partitions": "2"}) as running:
        running.create_topic("orders")
        yield running


def begun(at: RunningBroker, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": at.bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    return producer


def send(producer: Producer, value: str) -> None:
    producer.produce("orders", value, partition=0)
    assert producer.flush(LIMIT_S) == 0


def committed(at: RunningBroker) -> list[str]:
    """All that a reader of committed records gets to see."""
    (found,) = read_all(at.bootstrap, [("orders", 0)], "read_committed").values()
    return [value.decode() for _, value in found]


def the_file(at: RunningBroker, partition: str, suffix: str) -> Path:
    """The newest of its kind."""
    return max((at.directory / partition).glob(f"*{suffix}"))


def told(at: RunningBroker, *words: str) -> bool:
    """Whether one line of the broker's log has all of this."""
    return any(all(word in line for word in words) for line in at.log)


SNAPSHOT_DAMAGE: dict[str, Damage] = {
    "a bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "a version that came after us": lambda data: b"\0\x09" + data[2:],
    "cut": lambda data: data[:-3],
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("damage", SNAPSHOT_DAMAGE)
def test_a_snapshot_is_made_again_from_the_log(at: RunningBroker, damage: str) -> None:
    """It knows of the open transaction, without which readers would see its records."""
    aborted = begun(at, "aborted")
    send(aborted, "aborted")
    aborted.abort_transaction(LIMIT_S)
    producer = begun(at, "shop")
    send(producer, "first")
    at.stop()
    snapshot = the_file(at, "orders-0", ".snapshot")
    snapshot.write_bytes(SNAPSHOT_DAMAGE[damage](snapshot.read_bytes()))
    at.start()
    assert told(at, "removed a corrupt snapshot", str(snapshot))
    assert committed(at) == []
    send(producer, "second")
    producer.commit_transaction(LIMIT_S)
    assert committed(at) == ["first", "second"]


INDEX_DAMAGE: dict[str, Damage] = {
    "a version that came after us": lambda data: b"\0\x09" + data[2:],
    "half an entry": lambda data: data[:-5],
    "offsets out of order": lambda data: data[:10] + data[18:26] + data[10:18] + data[26:],
}


@pytest.mark.parametrize("damage", INDEX_DAMAGE)
def test_an_index_of_aborted_transactions_is_made_again(at: RunningBroker, damage: str) -> None:
    """Without it, readers would see what was aborted."""
    for value in ("gone", "gone, too"):
        producer = begun(at, "shop")
        send(producer, value)
        producer.abort_transaction(LIMIT_S)
    producer = begun(at, "shop")
    send(producer, "kept")
    producer.commit_transaction(LIMIT_S)
    at.stop()
    index = the_file(at, "orders-0", ".txnindex")
    before = index.read_bytes()
    index.write_bytes(INDEX_DAMAGE[damage](before))
    at.start()
    assert told(at, "rebuilding the indexes of a segment", str(index.with_suffix(".log")))
    assert committed(at) == ["kept"]
    at.stop()
    assert index.read_bytes() == before


def test_a_damaged_transaction_log_is_refused_and_the_others_are_served(at: RunningBroker) -> None:
    """What it held cannot be known: transactions could be both committed and aborted, if one went on without it."""
    producer = begun(at, "shop")
    send(producer, "first")
    other = begun(at, "a")
    at.stop()
    assert (partition_of("shop", 2), partition_of("a", 2)) == (0, 1)
    log = the_file(at, "__transaction_state-0", ".log")
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    at.start()
    send(other, "of another")
    other.commit_transaction(LIMIT_S)
    assert told(at, "a coordinator cannot be loaded", f"{log}, offset 0: CRC is")
    with pytest.raises(KafkaException, match=r"_TIMED_OUT|NOT_COORDINATOR"):
        Producer({"bootstrap.servers": at.bootstrap, "transactional.id": "shop", "log_level": 0}).init_transactions(2)
    assert committed(at) == [], "the open transaction must not be passed by"
    at.stop()
    assert log.read_bytes() == data, "a person must decide: nothing is cut off"
