"""Offsets of many partitions as JSON: what users write into options, and what Spark keeps in its checkpoint.

A checkpoint has the form of Spark's own Kafka connector, with four things more: the id of each topic, the group that
progress is committed to, if the source has made up its name, how many tasks share the partitions of the batch that ends
there, if they do, and where that batch started in partitions that none before it has read. No topic can have the names
of these.

    {"@group": "odradek-spark-7f3a", "@tasks": 2, "orders": {"0": 12, "1": 5, "id": "kyV0WOiUTuGXJiD1gRsTVw"}}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.metadata.uuids import from_text, to_text
from odradek.model.errors import OdradekError
from odradek.model.topic_partition import TopicPartition

LATEST = -1
"""In place of an offset: behind the last record."""
EARLIEST = -2
"""In place of an offset: the first record."""

_GROUP = "@group"
_TASKS = "@tasks"
_START = "@start"
_ID = "id"
_NO_ID = bytes(16)


class InvalidOffsets(OdradekError):
    """JSON that is not of the form that is needed."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a query has read, or could read: the offset of the next record of each partition."""

    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    """Of those topics whose ids are known."""
    group: str | None = None
    tasks: int | None = None
    """At most so many read the batch that ends here: kept, so that a batch that comes again has the same tasks."""
    start: Mapping[TopicPartition, int] | None = None
    """Where the batch that ends here started, in partitions that none before it has read: all of the first batch of a
    query. Spark keeps only the ends of batches."""

    def to_json(self) -> dict[str, Any]:
        """In one order, whatever the order of its parts: Spark compares the text."""
        named = {_GROUP: self.group, _TASKS: self.tasks}
        told: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
        if self.start is not None:
            told[_START] = _by_topic(self.start)
        told |= _by_topic(self.offsets)
        for topic in told.keys() & self.topic_ids.keys():
            told[topic][_ID] = to_text(self.topic_ids[topic])
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Position":
        """Raises InvalidOffsets."""
        offsets: dict[TopicPartition, int] = {}
        topic_ids: dict[str, bytes] = {}
        group = tasks = start = None
        try:
            for topic, inner in told.items():
                if topic == _GROUP:
                    group = str(inner)
                    continue
                if topic == _TASKS:
                    tasks = _positive(inner)
                    continue
                if topic == _START:
                    start = _by_partition(inner)
                    continue
                for name, value in inner.items():
                    if name == _ID:
                        topic_ids[topic] = from_text(value)
                    else:
                        offsets[TopicPartition(topic, int(name))] = int(value)
        except (AttributeError, TypeError, ValueError):
            text = _shortened(json.dumps(told))
            raise InvalidOffsets(f"the checkpoint is not of this source: no offsets of topics are in {text}") from None
        return cls(offsets, topic_ids, group, tasks, start)

    def is_same_topic(self, other: "Position", topic: str) -> bool:
        """Whether both mean the same topic, as far as both know its id."""
        mine, others = self.topic_ids.get(topic, _NO_ID), other.topic_ids.get(topic, _NO_ID)
        return mine == others or _NO_ID in (mine, others)


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, Any]] = {}
    for topic, partition in sorted(offsets):
        told.setdefault(topic, {})[str(partition)] = offsets[TopicPartition(topic, partition)]
    return told


def _by_partition(told: Mapping[str, Mapping[str, Any]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(name)): int(value) for topic, inner in told.items() for name, value in inner.items()
    }


def parse_numbers(text: str, example: str) -> dict[TopicPartition, int]:
    """`{"orders": {"0": 23, "1": -1}}`: a number for each partition. Raises InvalidOffsets."""
    try:
        told = json.loads(text)
        found = {
            TopicPartition(topic, _partition(name)): _whole(value)
            for topic, inner in told.items()
            for name, value in inner.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise InvalidOffsets(f"expected for example {example}, got {_shortened(text)}") from None
    return found


def parse_partitions(text: str) -> tuple[TopicPartition, ...]:
    """`{"orders": [0, 1]}`. Raises InvalidOffsets."""
    try:
        told = json.loads(text)
        found = {TopicPartition(topic, _partition(each)) for topic, numbers in told.items() for each in numbers}
    except (AttributeError, TypeError, ValueError):
        raise InvalidOffsets(f'expected for example {{"orders": [0, 1]}}, got {_shortened(text)}') from None
    return tuple(sorted(found))


def _partition(value: object) -> int:
    number = int(value) if isinstance(value, str) else _whole(value)
    if number < 0:
        raise ValueError("a partition below 0")
    return number


def _positive(value: object) -> int:
    number = _whole(value)
    if number < 1:
        raise ValueError("less than one")
    return number


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("no whole number")
    return value


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
