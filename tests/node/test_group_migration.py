"""Consumers of confluent-kafka are rolled from one protocol of groups to the other and back, while records flow."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from odradek.testing import RunningBroker, running_broker
from support.committing import begin_at_the_start

pytestmark = pytest.mark.slow

PARTITIONS = 6
MEMBERS = 3
RECORDS_A_TURN = 20
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}
_TURN_S = 0.05
_LIMIT_S = 600
"""What takes longer never happens."""


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker(SETTINGS) as running:
        yield running


class Reader:
    """A member that processes what it reads and commits it, in a thread of its own as in a process of its own."""

    def __init__(self, processed: set[tuple[int, int]], topic: str, config: dict[str, object]) -> None:
        self.assigned = 0
        self.failure: BaseException | None = None
        self._processed = processed
        self._topic = topic
        self._consumer = Consumer(config)
        self._uncommitted: dict[int, int] = {}
        """Behind what was processed, by partition."""
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reader")
        self._thread.start()

    def close(self) -> None:
        """It leaves the group."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._consumer.subscribe([self._topic], on_revoke=self._commit_positions)
            while not self._is_over.is_set():
                self._process(self._consumer.consume(100, _TURN_S))
                self.assigned = len(self._consumer.assignment())
            self._leave()
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.failure = error
        finally:
            self._consumer.close()

    def _leave(self) -> None:
        """Whatever waits to be called is called before it is closed: `close` may hang on it, see docs/clients.md."""
        self._consumer.unsubscribe()
        while (records := self._consumer.consume(100, _TURN_S)) or self._consumer.assignment():
            self._process(records)

    def _process(self, records: list[Message]) -> None:
        for record in records:
            if (error := record.error()) is not None:
                # Members that join while the group moves are told to join again, which is not fatal.
                assert not error.fatal(), error
                continue
            at, offset = record.partition(), record.offset()
            assert at is not None
            assert offset is not None
            self._processed.add((at, offset))
            self._uncommitted[at] = offset + 1
        self._commit_processed()

    def _commit_processed(self) -> None:
        """Also what was refused before: whoever keeps a partition through a rebalance is the only one to commit it."""
        held = {each.partition for each in self._consumer.assignment()}
        self._uncommitted = {at: end for at, end in self._uncommitted.items() if at in held}
        if self._commit([TopicPartition(self._topic, *each) for each in self._uncommitted.items()]):
            self._uncommitted.clear()

    def _commit_positions(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit([each for each in self._consumer.position(partitions) if each.offset >= 0])

    def _commit(self, offsets: list[TopicPartition]) -> bool:
        """Whoever has lost the partitions meanwhile is refused, and somebody else processes these records again."""
        with suppress(KafkaException):
            if offsets:
                told = self._consumer.commit(offsets=offsets, asynchronous=False)
                return all(each.error is None for each in told)
        return False


class Group:
    """Readers, and somebody who writes all the time."""

    def __init__(self, broker: RunningBroker, name: str) -> None:
        self.name = name
        self.readers: list[Reader] = []
        self._processed: set[tuple[int, int]] = set()
        self._bootstrap = broker.bootstrap
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self._admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(30)
        begin_at_the_start(self._admin, name, name, PARTITIONS)
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        self._written = 0
        self._committed: dict[int, int] = {}

    def classic(self, strategy: str) -> Reader:
        return self._reader({"partition.assignment.strategy": strategy, "heartbeat.interval.ms": 100})

    def modern(self) -> Reader:
        return self._reader({"group.protocol": "consumer"})

    def _reader(self, config: dict[str, object]) -> Reader:
        known = {
            "bootstrap.servers": self._bootstrap,
            "group.id": self.name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        return Reader(self._processed, self.name, {**known, **config})

    def until(self, condition: Callable[[], bool], *, writing: bool = True) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while time.monotonic() < deadline:
            for _ in range(RECORDS_A_TURN if writing else 0):
                self._producer.produce(self.name, str(self._written), partition=self._written % PARTITIONS)
                self._written += 1
            self._producer.flush(_LIMIT_S)
            self._producer.poll(_TURN_S)
            self._check_commits()
            for reader in self.readers:
                assert reader.failure is None, reader.failure
            if condition():
                return
        assigned = [reader.assigned for reader in self.readers]
        left = f"{self._written} written, {len(self._processed)} processed, committed: {self._committed}"
        raise AssertionError(f"it never happened; the readers have {assigned}; {left}")

    def _check_commits(self) -> None:
        """They never go back."""
        asked = ConsumerGroupTopicPartitions(self.name)
        answer = self._admin.list_consumer_group_offsets([asked])[self.name].result(30)
        for told in answer.topic_partitions or ():
            before = self._committed.get(told.partition, -1)
            assert told.offset >= before, f"partition {told.partition}: {before}, and then {told.offset}"
            self._committed[told.partition] = told.offset

    def share_alike(self) -> bool:
        return [reader.assigned for reader in self.readers] == [PARTITIONS // MEMBERS] * MEMBERS

    def is_done(self) -> bool:
        """Whether all that was written is processed and committed."""
        self._producer.flush(30)
        ends = {at: self._written // PARTITIONS + (at < self._written % PARTITIONS) for at in range(PARTITIONS)}
        everything = {(at, offset) for at, end in ends.items() for offset in range(end)}
        return everything == self._processed and ends == self._committed

    def kind(self) -> str:
        listed = self._admin.list_consumer_groups().result(30).valid
        (kind,) = [group.type.name for group in listed if group.group_id == self.name]
        return str(kind)

    def close(self) -> None:
        for reader in self.readers:
            reader.close()


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_members_are_rolled_to_the_consumer_protocol_and_back(broker: RunningBroker, strategy: str) -> None:
    group = Group(broker, f"rolled-{strategy}")
    try:
        group.readers = [group.classic(strategy) for _ in range(MEMBERS)]
        group.until(group.share_alike)
        assert group.kind() == "CLASSIC"
        for at in range(MEMBERS):
            group.readers[at].close()
            group.readers[at] = group.modern()
            group.until(group.share_alike)
            assert group.kind() == "CONSUMER"
        for at in range(MEMBERS):
            group.readers[at].close()
            group.readers[at] = group.classic(strategy)
            group.until(group.share_alike)
        assert group.kind() == "CLASSIC"
        group.until(group.is_done, writing=False)
    finally:
        group.close()
