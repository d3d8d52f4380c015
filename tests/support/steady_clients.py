"""Clients of librdkafka that go on, whatever becomes of their broker, and keep a record of what they were told.

Each works in a thread of its own, from `start` to `stop`. What goes wrong there is raised by `stop`, and by whoever
waits for it to get on.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

_PAUSE_S = 0.01
_SHORT_PAUSE_S = 0.002
_POLL_S = 0.2
_LIMIT_S = 300
_PATIENCE_MS = 600_000
_CALL_S = 20

Place = tuple[str, int]
"""A topic and a partition of it."""


class SteadyClient:
    def __init__(self, name: str) -> None:
        self.done = 0
        """How much it got on, in units of its own."""
        self.name = name
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        """Returns when it has ended what it had begun, or was never started. It needs a broker for that."""
        if self._thread.ident is not None:
            self._thread.join()

    def stop(self) -> None:
        """Returns when it has ended what it had begun."""
        self.ask_to_stop()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def wait_for(self, count: int) -> None:
        """Until it has got on so much in all."""
        self._wait_until(lambda: self.done >= count, f"is at {count}")

    def _wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        with self._changed:
            came = self._changed.wait_for(lambda: is_so() or self._failure is not None, _LIMIT_S)
        if self._failure is not None:
            raise self._failure
        assert came, f"it is not so that {self.name} {what}; it is at {self.done}"

    def _get_on(self, count: int = 1) -> None:
        with self._changed:
            self.done += count
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as failure:  # noqa: BLE001 - raised again by whoever waits
            with self._changed:
                self._failure = failure
                self._changed.notify_all()

    def _work(self) -> None:
        raise NotImplementedError


def _transactional(bootstrap: str, transactional_id: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": _PATIENCE_MS // 2,
        "message.timeout.ms": _PATIENCE_MS // 2,
        "reconnect.backoff.max.ms": 500,
    }


def _initialised(settings: Mapping[str, Any]) -> Producer:
    producer = Producer(dict(settings))
    persist(producer.init_transactions)
    return producer


def persist(call: Callable[[float], object]) -> None:
    """Call it, with a limit in seconds. As long as the broker is away it is called again, and goes on where it was."""
    while True:
        try:
            call(_CALL_S)
            return
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise


class IdempotentProducer(SteadyClient):
    """Sends numbers to each partition of a topic in turn. `done` counts those that were acknowledged."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__("idempotent producer")
        self.sent: defaultdict[Place, list[bytes]] = defaultdict(list)
        self._topic = topic
        self._partitions = partitions
        self._settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 0,  # a request is under way nearly all the time, also when the broker is killed
            # A snapshot of Kafka's has the last batch of a producer alone: after a restart it knows no more of them
            # as repeats, and refuses those that were under way before it.
            "max.in.flight.requests.per.connection": 1,
            "message.timeout.ms": _PATIENCE_MS,
            "reconnect.backoff.max.ms": 500,
            "compression.type": "lz4",
        }

    def _work(self) -> None:
        producer = Producer(self._settings)  # none is left behind that tells of a broker that is not there
        number = 0
        while not self._stopping.wait(_SHORT_PAUSE_S):
            for partition in range(self._partitions):
                value = str(number).encode()
                producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
                self.sent[self._topic, partition].append(value)
                number += 1
            producer.poll(0)
        left = producer.flush(_LIMIT_S)
        assert left == 0, f"{left} records were not acknowledged"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        self._get_on()


class TransactionalProducer(SteadyClient):
    """Commits and aborts transactions over all partitions of a topic. `done` counts those that ended.

    A transaction that had to be aborted is begun again with the same records.
    """

    def __init__(self, bootstrap: str, transactional_id: str, topic: str, partitions: int) -> None:
        super().__init__(f"transactional producer {transactional_id}")
        self.committed: list[int] = []
        self.aborted: list[int] = []
        self.unknown: list[int] = []
        """Nobody could say any more whether it was committed, since the producer had to be made anew."""
        self._settings = {**_transactional(bootstrap, transactional_id), "linger.ms": 1}
        self._topic = topic
        self._partitions = partitions

    def values(self, number: int) -> dict[Place, list[bytes]]:
        """The records of a transaction."""
        return {
            (self._topic, partition): [f"{number}.{part}".encode() for part in range(3)]
            for partition in range(self._partitions)
        }

    def _work(self) -> None:
        producer = _initialised(self._settings)
        number = 0
        while not self._stopping.wait(_PAUSE_S):
            commit = number % 4 != 3
            try:
                self._transact(producer, number, commit=commit)
            except KafkaException as failure:
                error = failure.args[0]
                if error.txn_requires_abort():
                    persist(producer.abort_transaction)
                    continue  # again, with the same records
                if not error.fatal():
                    raise
                self.unknown.append(number)
                producer = _initialised(self._settings)
            else:
                (self.committed if commit else self.aborted).append(number)
            number += 1
            self._get_on()

    def _transact(self, producer: Producer, number: int, *, commit: bool) -> None:
        producer.begin_transaction()
        for (topic, partition), values in self.values(number).items():
            for value in values:
                producer.produce(topic, value, partition=partition)
        persist(producer.commit_transaction if commit else producer.abort_transaction)


class GroupConsumer(SteadyClient):
    """Reads a topic as the only member of a group, and commits what it read. `done` counts different records."""

    def __init__(self, bootstrap: str, group: str, topic: str, settings: Mapping[str, str]) -> None:
        super().__init__(f"consumer of {group}")
        self.read: defaultdict[Place, list[tuple[int, bytes]]] = defaultdict(list)
        """Offsets and values, in the order in which they came."""
        self.committed: defaultdict[Place, list[int]] = defaultdict(list)
        """Offsets that the broker acknowledged, in that order."""
        self._seen: Counter[tuple[Place, int]] = Counter()
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "reconnect.backoff.max.ms": 500,
                **settings,
            }
        )

    def wait_for_commit(self, place: Place, offset: int) -> None:
        """Until the broker acknowledged this offset of a partition, or one above it."""
        self._wait_until(lambda: max(self.committed[place], default=-1) >= offset, f"has committed {offset}")

    def _work(self) -> None:
        self._consumer.subscribe([self._topic])
        try:
            while not self._stopping.is_set():
                taken = [self._take(message) for message in self._consumer.consume(100, _POLL_S)]
                if any(taken):
                    self._commit()
        finally:
            self._consumer.close()

    def _take(self, message: Message) -> bool:
        error = message.error()
        if error is not None:
            if error.fatal():
                raise KafkaException(error)
            return False  # the broker is away, or the topic not known yet
        place = message.topic() or "", message.partition() or 0
        offset = message.offset() or 0
        self.read[place].append((offset, bytes(message.value() or b"")))
        self._seen[place, offset] += 1
        if self._seen[place, offset] == 1:
            self._get_on()
        return True

    def _commit(self) -> None:
        try:
            told = self._consumer.commit(asynchronous=False)
        except KafkaException:
            return  # not acknowledged: the next one has it, too
        with self._changed:
            for each in told or ():
                if each.error is None and each.offset >= 0:
                    self.committed[each.topic, each.partition].append(each.offset)
            self._changed.notify_all()


def read_all(bootstrap: str, places: Collection[Place], isolation: str) -> dict[Place, list[tuple[int, bytes]]]:
    """Offsets and values of partitions, from their beginnings to their ends, by a consumer of no group."""
    found: dict[Place, list[tuple[int, bytes]]] = {place: [] for place in places}
    for message in read_messages(bootstrap, places, isolation):
        place = message.topic() or "", message.partition() or 0
        found[place].append((message.offset() or 0, bytes(message.value() or b"")))
    return found


def read_messages(bootstrap: str, places: Collection[Place], isolation: str) -> Iterator[Message]:
    """As `read_all`, with all that a record has."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    at_end: set[Place] = set()
    deadline = time.monotonic() + _LIMIT_S
    try:
        consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
        while len(at_end) < len(places):
            assert time.monotonic() < deadline, f"not at the end of {set(places) - at_end}"
            for message in consumer.consume(500, _POLL_S):
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    at_end.add((message.topic() or "", message.partition() or 0))
                elif error.fatal():
                    raise KafkaException(error)
    finally:
        consumer.close()
