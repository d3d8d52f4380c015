"""A client that keeps a table in a compacted topic, whatever becomes of its broker, and what the cleaner made of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.storage import checkpoint, names
from support.steady_clients import SteadyClient, read_messages

TABLE: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.001",
}
"""Settings of a topic that is cleaned as soon as there is something to clean."""
EAGER: Mapping[str, str] = {"log.cleaner.backoff.ms": "100", "log.flush.offset.checkpoint.interval.ms": "200"}
"""Settings of a broker that cleans soon, and tells soon how far a log is clean: odradek does with its checkpoints."""
TABLE_WRITER = "table-writer"
"""The client id of a TableWriter."""

_PAUSE_S = 0.01
_POLL_S = 0.05
_LIMIT_S = 300
_PATIENCE_MS = 600_000
_KEYS = 40
_VALUE_BYTES = 20_000
_DELETED_SHARE = 0.2


class TableWriter(SteadyClient):
    """Puts and deletes some keys again and again, in partition 0. `done` counts what was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__("table writer")
        self.table: dict[bytes, bytes] = {}
        """What was sent last, of all keys that were not deleted since."""
        self._topic = topic
        self._settings = {
            "bootstrap.servers": bootstrap,
            "client.id": TABLE_WRITER,
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 1,  # see IdempotentProducer
            "message.timeout.ms": _PATIENCE_MS,
            "reconnect.backoff.max.ms": 500,
        }

    def _work(self) -> None:
        producer = Producer(self._settings)
        rng = Random(1)
        while not self._stopping.wait(_PAUSE_S):
            key = b"key %d" % rng.randrange(_KEYS)
            value = None if rng.random() < _DELETED_SHARE else rng.randbytes(_VALUE_BYTES)
            producer.produce(self._topic, value, key, partition=0, on_delivery=self._delivered)
            self.table.pop(key, None)
            if value is not None:
                self.table[key] = value
            producer.poll(0)
        left = producer.flush(_LIMIT_S)
        assert left == 0, f"{left} records were not acknowledged"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        self._get_on()


def read_table(bootstrap: str, topic: str) -> tuple[dict[bytes, bytes], int]:
    """What a reader from the beginning has in the end, and how many records it had to read."""
    table: dict[bytes, bytes] = {}
    count = 0
    for message in read_messages(bootstrap, [(topic, 0)], "read_committed"):
        count += 1
        key, value = bytes(message.key() or b""), message.value()
        table.pop(key, None)
        if value is not None:
            table[key] = bytes(value)
    return table, count


def cleaned_to(data: Path, topic: str) -> int:
    """Below which offset the first partition is clean, as the checkpoint says; -1 if it never was."""
    path = data / names.CLEANER_OFFSETS
    found = checkpoint.read_offsets(OsFiles(), str(path)) if path.exists() else {}
    return found.get(TopicPartition(topic, 0), -1)


def wait_until_all_is_clean(data: Path, topic: str) -> None:
    """All but the active segment, which no broker cleans. Nobody may write meanwhile."""
    active = int(max((data / f"{topic}-0").glob(f"*{names.LOG}")).stem)
    wait_until_cleaned(data, topic, active - 1)


def wait_until_cleaned(data: Path, topic: str, past: int) -> None:
    """Until the log is clean past that offset."""
    deadline = time.monotonic() + _LIMIT_S
    while (now := cleaned_to(data, topic)) <= past:
        assert time.monotonic() < deadline, f"{topic} is clean to {now}, not past {past}"
        time.sleep(_POLL_S)  # not all the time: the brokers have the same cores
