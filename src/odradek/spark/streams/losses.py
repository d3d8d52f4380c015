"""What a stream was to read and cannot any more: expired, truncated, deleted, or replaced by another topic."""

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Extent
from odradek.spark.offsets import Position
from odradek.spark.reading.errors import DataLoss, Lost, NoSuchPartition, StartUnknown, TopicReplaced

log = logging.getLogger(__name__)


class Loss(NamedTuple):
    """Of one partition, or of the offsets [first, next) of it where these are known."""

    partition: TopicPartition
    first: int
    next_offset: int
    error: Lost

    @property
    def offsets(self) -> int:
        return max(0, self.next_offset - self.first)


def find_losses(start: Position, extent: Extent, *, by_pattern: bool) -> list[Loss]:
    """What lies between where a query is and what there is.

    A partition that is new must begin at 0; but one of a topic that was added to a list of topics may be old.
    """
    found = []
    for partition, offset in start.offsets.items():
        if partition not in extent.latest:
            found.append(Loss(partition, offset, offset, NoSuchPartition(str(partition))))
        elif not start.is_same_topic(Position(topic_ids=extent.topic_ids), partition.topic):
            found.append(Loss(partition, offset, offset, _replaced(partition.topic, start, extent)))
        elif offset < extent.earliest[partition]:
            found.append(_lost(partition, offset, extent.earliest[partition]))
        elif offset > extent.latest[partition]:
            found.append(_lost(partition, extent.latest[partition], offset))
    topics = {each.topic for each in start.offsets}
    for partition, earliest in extent.earliest.items():
        if partition not in start.offsets and earliest > 0 and (by_pattern or partition.topic in topics):
            found.append(_lost(partition, 0, earliest))
    return found


def up_to_end(losses: Iterable[Loss], end: Position, extent: Extent) -> list[Loss]:
    """Of what has expired, only what is of the batch that ends there: the rest is of the next one, which tells it."""
    found = []
    for each in losses:
        ends_at = end.offsets.get(each.partition, each.next_offset)
        if each.next_offset != extent.earliest.get(each.partition) or each.next_offset <= ends_at:
            found.append(each)
        elif each.first < ends_at:
            found.append(_lost(each.partition, each.first, ends_at))
    return found


def find_unknown_starts(start: Position, end: Position, *, or_equal: bool) -> list[Loss]:
    """Of a batch that comes again: one that ends before it starts is the first of its query, which started earlier.
    With `or_equal`, so is one that ends where it starts. Before offset 0 there is nothing."""
    return [
        Loss(partition, offset, offset, StartUnknown(str(partition), offset, start.offsets[partition]))
        for partition, offset in end.offsets.items()
        if 0 < offset < start.offsets.get(partition, -1) + or_equal and start.is_same_topic(end, partition.topic)
    ]


def find_expired_starts(
    start: Position, end: Position, extent: Extent, named: Mapping[TopicPartition, int]
) -> list[Loss]:
    """Of such a batch, where its start was looked up and not `named`: all that is left may not be all there was."""
    found = []
    for partition, ends_at in end.offsets.items():
        at = start.offsets.get(partition, 0)
        if 0 < at < ends_at and at == extent.earliest.get(partition) and at != named.get(partition):
            found.append(Loss(partition, at, at, StartUnknown(str(partition), ends_at, at)))
    return found


def begin_at(start: Position, extent: Extent) -> dict[TopicPartition, int]:
    """Where the next batch starts, in each partition that there is: what is lost is left out, what is new is not."""
    now = Position(topic_ids=extent.topic_ids)
    found = {}
    for partition, earliest in extent.earliest.items():
        offset = start.offsets.get(partition)
        if offset is None or not start.is_same_topic(now, partition.topic):
            found[partition] = earliest
        else:
            found[partition] = min(max(offset, earliest), extent.latest[partition])
    return found


class Losses:
    """Raises a loss where one is an error; else logs and counts it, once."""

    def __init__(self, *, fail: bool) -> None:
        self._fail = fail
        self._seen: set[tuple[TopicPartition, int, int]] = set()
        self.skipped = 0
        """Offsets that were passed over; those of topics and partitions that are gone are not known."""

    def report(self, losses: list[Loss]) -> None:
        for loss in losses:
            if self._fail:
                raise loss.error
            key = (loss.partition, loss.first, loss.next_offset)
            if key not in self._seen:
                self._seen.add(key)
                self.skipped += loss.offsets
                log.warning("%s: skipped, %d offsets so far", loss.error.what, self.skipped)


def _lost(partition: TopicPartition, first: int, next_offset: int) -> Loss:
    return Loss(partition, first, next_offset, DataLoss(str(partition), first, next_offset))


def _replaced(topic: str, start: Position, extent: Extent) -> Lost:
    return TopicReplaced(topic, start.topic_ids[topic], extent.topic_ids[topic])
