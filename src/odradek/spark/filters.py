"""What filters on topic, partition, offset and timestamp leave to fetch."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from odradek.model.topic_partition import TopicPartition

_OFFSET_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Narrowing:
    """All of it holds for every record that the filters let through."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    offset_least: int = 0
    offset_most: int = _OFFSET_MAX
    time_ms_least: int | None = None
    """Records need not be in the order of their times: a least one has a first offset, but a most has no last one."""

    def has(self, partition: TopicPartition) -> bool:
        return (self.topics is None or partition.topic in self.topics) and (
            self.partitions is None or partition.partition in self.partitions
        )


def narrow(filters: Iterable[Filter]) -> Narrowing:
    """Filters that say nothing of use are passed over: Spark applies all of them again."""
    found = Narrowing()
    for each in filters:
        found = _with(found, each)
    return found


def _with(found: Narrowing, each: Filter) -> Narrowing:
    match each:
        case EqualTo((column,), value) | EqualNullSafe((column,), value):
            return _among(found, column, [value])
        case In((column,), values):
            return _among(found, column, list(values))
        case GreaterThan((column,), value) if column == "offset" and isinstance(value, int):
            return replace(found, offset_least=max(found.offset_least, value + 1))
        case GreaterThanOrEqual((column,), value) if column == "offset" and isinstance(value, int):
            return replace(found, offset_least=max(found.offset_least, value))
        case LessThan((column,), value) if column == "offset" and isinstance(value, int):
            return replace(found, offset_most=min(found.offset_most, value - 1))
        case LessThanOrEqual((column,), value) if column == "offset" and isinstance(value, int):
            return replace(found, offset_most=min(found.offset_most, value))
        case GreaterThan((column,), value) | GreaterThanOrEqual((column,), value) if column == "timestamp":
            return _not_before(found, [value])
        case _:
            return found


def _among(found: Narrowing, column: str, values: list[Any]) -> Narrowing:
    match column:
        case "topic":
            topics = frozenset(values)
            return replace(found, topics=topics if found.topics is None else found.topics & topics)
        case "partition":
            numbers = frozenset(values)
            return replace(found, partitions=numbers if found.partitions is None else found.partitions & numbers)
        case "offset" if values and all(isinstance(each, int) for each in values):
            return replace(
                found,
                offset_least=max(found.offset_least, min(values)),
                offset_most=min(found.offset_most, max(values)),
            )
        case "timestamp":
            return _not_before(found, values)
        case _:
            return found


def _not_before(found: Narrowing, values: list[Any]) -> Narrowing:
    if not values or not all(isinstance(each, datetime) for each in values):
        return found
    least = min(map(_time_ms, values))
    if least < 0:  # records without a time are of a moment before all others, and brokers find none by it
        return found
    return replace(found, time_ms_least=least if found.time_ms_least is None else max(found.time_ms_least, least))


def _time_ms(value: datetime) -> int:
    """Without a zone it is in that of the session, which Spark has given to this process as its own."""
    aware = value.astimezone(UTC)
    return int(aware.timestamp() * 1000) - 1  # a float may be off by a little: one less is still right
