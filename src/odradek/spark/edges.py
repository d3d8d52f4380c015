"""Where reading starts and where it ends, as options say it."""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.model.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Everywhere:
    """The same in all partitions: EARLIEST or LATEST."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset for each partition; EARLIEST and LATEST may stand for one."""

    offsets: Mapping[TopicPartition, int]
    option: str


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record at or after a time, in all partitions."""

    time_ms: int
    option: str


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The first record at or after a time, which is another one for each partition."""

    times_ms: Mapping[TopicPartition, int]
    option: str


Edge = Everywhere | AtOffsets | AtTime | AtTimes


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which partitions are read: just one of the three is there."""

    topics: tuple[str, ...] = ()
    """All partitions of these."""
    pattern: str | None = None
    """All partitions of topics in whose name it is found."""
    partitions: tuple[TopicPartition, ...] = ()
