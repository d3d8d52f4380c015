"""Transactions with a stock client: all of one is read, or nothing."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from odradek.testing import RunningBroker, running_broker
from support.steady_clients import read_all

pytestmark = pytest.mark.slow
LIMIT_S = 60


@pytest.fixture(params=[{}, {"log.flush.interval.messages": "1"}], ids=["unsynced", "synced"])
def at(request: pytest.FixtureRequest) -> Iterator[RunningBroker]:
    """Also where each step is synced before the next."""
    often = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    with running_broker(settings={**often, **request.param}) as running:
        running.create_topic("orders", partitions=2)
        yield running


def producer_of(at: RunningBroker, transactional_id: str = "shop", **more: object) -> Producer:
    producer = Producer({"bootstrap.servers": at.bootstrap, "transactional.id": transactional_id, **more})
    producer.init_transactions(LIMIT_S)
    return producer


def send(producer: Producer, *values: str, partition: int = 0) -> None:
    for value in values:
        producer.produce("orders", value, partition=partition)
    assert producer.flush(LIMIT_S) == 0


def read(at: RunningBroker, partition: int = 0, level: str = "read_committed") -> list[str]:
    """All that such a consumer gets to see, to the end."""
    (found,) = read_all(at.bootstrap, [("orders", partition)], level).values()
    return [value.decode() for _, value in found]


def test_what_is_committed_is_read_and_what_is_aborted_is_not(at: RunningBroker) -> None:
    producer = producer_of(at)
    producer.begin_transaction()
    send(producer, "a", "b")
    send(producer, "c", partition=1)
    assert read(at) == []
    assert read(at, level="read_uncommitted") == ["a", "b"]
    producer.commit_transaction(LIMIT_S)
    assert (read(at), read(at, 1)) == (["a", "b"], ["c"])
    producer.begin_transaction()
    send(producer, "gone")
    producer.abort_transaction(LIMIT_S)
    producer.begin_transaction()
    send(producer, "d")
    producer.commit_transaction(LIMIT_S)
    assert read(at) == ["a", "b", "d"]
    assert read(at, level="read_uncommitted") == ["a", "b", "gone", "d"]


def test_a_second_producer_fences_the_first(at: RunningBroker) -> None:
    first = producer_of(at)
    first.begin_transaction()
    send(first, "of the first")
    second = producer_of(at)
    second.begin_transaction()
    send(second, "of the second")
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(LIMIT_S)
    assert fenced.value.args[0].fatal()
    second.commit_transaction(LIMIT_S)
    assert read(at) == ["of the second"]


def test_a_transaction_that_takes_too_long_is_aborted(at: RunningBroker) -> None:
    slow = producer_of(at, "slow", **{"transaction.timeout.ms": 1000, "message.timeout.ms": 1000})
    slow.begin_transaction()
    send(slow, "late")
    other = producer_of(at, "other")
    other.begin_transaction()
    send(other, "in time")
    other.commit_transaction(LIMIT_S)
    while read(at) != ["in time"]:  # each of them asks the broker, and the whole test has a limit
        continue
    with pytest.raises(KafkaException):
        slow.commit_transaction(LIMIT_S)


def test_offsets_are_committed_with_what_was_made_of_them(at: RunningBroker) -> None:
    at.create_topic("raw")
    plain = Producer({"bootstrap.servers": at.bootstrap})
    for number in range(5):
        plain.produce("raw", str(number))
    assert plain.flush(LIMIT_S) == 0
    settings = {"bootstrap.servers": at.bootstrap, "group.id": "makers", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe(["raw"])
    producer = producer_of(at)
    made: list[str] = []
    while len(made) < 5:
        message = consumer.poll(LIMIT_S)
        assert message is not None
        assert message.error() is None
        made.append((message.value() or b"").decode() * 2)
    producer.begin_transaction()
    send(producer, *made)
    producer.send_offsets_to_transaction(
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), LIMIT_S
    )
    with pytest.raises(KafkaException, match="_TIMED_OUT"):  # told that they are not stable, it asks again and again
        consumer.committed([TopicPartition("raw", 0)], 0.5)
    producer.commit_transaction(LIMIT_S)
    assert consumer.committed([TopicPartition("raw", 0)], LIMIT_S)[0].offset == 5
    consumer.close()
    assert read(at) == made == ["00", "11", "22", "33", "44"]


def test_an_open_transaction_goes_on_after_a_restart(at: RunningBroker) -> None:
    producer = producer_of(at)
    producer.begin_transaction()
    send(producer, "a")
    at.kill()
    at.start()
    assert read(at) == []
    send(producer, "b")
    producer.commit_transaction(LIMIT_S)
    assert read(at) == ["a", "b"]
