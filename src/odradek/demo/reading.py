"""Reads topics through the protocol, as any application would."""

import json
from collections.abc import Iterator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from odradek.model.errors import OdradekError
from odradek.pipelines.contract import PIPELINE_PROGRESS

Fields = dict[str, Any]
Row = tuple[str, Fields]
"""The key of a record, and the fields of its value."""

UNREADABLE = "unreadable"
"""The field with the text of a value that is no object of plain values."""
_LIMIT_S = 30.0
_MOST = 1000


class NotRead(OdradekError):
    """A topic cannot be read to its end."""


def committed_rows(bootstrap: str, topic: str) -> list[Row]:
    """All that is committed; rows of a key are in the order in which they were written. Raises NotRead."""
    consumer = _consumer(bootstrap)
    try:
        partitions = _partitions(consumer, topic)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        rows: list[Row] = []
        while partitions:
            first = consumer.poll(_LIMIT_S)
            if first is None:
                raise NotRead(f"partitions {sorted(partitions)} of {topic} do not come to their ends")
            for message in [first, *consumer.consume(_MOST, 0)]:
                error = message.error()
                if error is None:
                    rows.append(row_of(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    partitions.discard(message.partition() or 0)
        return rows
    finally:
        consumer.close()


class ProgressReader:
    """What jobs tell of themselves, from the first of it on. The topic need not be there yet."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = _consumer(bootstrap)
        self._consumer.assign([TopicPartition(PIPELINE_PROGRESS, 0, OFFSET_BEGINNING)])

    def news(self) -> Iterator[Fields]:
        """What came since the last call."""
        for message in self._consumer.consume(_MOST, 0):
            if message.error() is None:
                yield row_of(message)[1]

    def close(self) -> None:
        self._consumer.close()


def row_of(message: Message) -> Row:
    """A value that others wrote may be anything."""
    value = message.value() or b""
    try:
        fields = json.loads(value)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or any(isinstance(each, dict | list) for each in fields.values()):
        fields = {UNREADABLE: value.decode(errors="backslashreplace")}
    return (message.key() or b"").decode(errors="backslashreplace"), fields


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "odradek-demo",  # which librdkafka asks for; nothing is committed to it
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "client.id": "odradek-demo",
            "log_level": 0,
        }
    )


def _partitions(consumer: Consumer, topic: str) -> set[int]:
    try:
        found = consumer.list_topics(topic, _LIMIT_S).topics[topic]
    except KafkaException as error:
        raise NotRead(f"{topic} cannot be read: {error.args[0].str()}") from None
    if found.error is not None:
        raise NotRead(f"{topic} cannot be read: {found.error.str()}")
    return set(found.partitions)
