"""Topics, and partitions of topics, as they are named on a command line."""

import argparse
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from odradek.client.client import Client
from odradek.client.cluster import ClusterView
from odradek.client.errors import Refused
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition

_FORM = "TOPIC or TOPIC:0,1"


@dataclass(frozen=True, slots=True)
class TopicScope:
    topic: str
    partitions: tuple[int, ...] | None = None
    """None for all of them."""

    def has(self, partition: TopicPartition) -> bool:
        return partition.topic == self.topic and (self.partitions is None or partition.partition in self.partitions)

    def __str__(self) -> str:
        return self.topic if self.partitions is None else f"{self.topic}:{','.join(map(str, self.partitions))}"


def parse_scope(text: str) -> TopicScope:
    """`TOPIC` or `TOPIC:0,1`, for argparse."""
    topic, colon, numbers = text.partition(":")
    if not topic:
        raise argparse.ArgumentTypeError(f"{text!r} must be {_FORM}")
    if not colon:
        return TopicScope(topic)
    words = [word.strip() for word in numbers.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} must be {_FORM}")
    return TopicScope(topic, tuple(sorted(set(map(int, words)))))


def chosen(view: ClusterView, scopes: Iterable[TopicScope]) -> list[TopicPartition]:
    """The partitions that are meant, in order. Raises Refused where one is not there."""
    found: set[TopicPartition] = set()
    for scope in scopes:
        topic = view.topics[scope.topic]
        if topic.error is not None:
            is_unknown = topic.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise Refused(topic.error.code, f"Topic '{scope.topic}' does not exist") if is_unknown else topic.error
        there = {each.partition for each in topic.partitions}
        for number in there if scope.partitions is None else scope.partitions:
            if number not in there:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{scope.topic} has no partition {number}")
            found.add(TopicPartition(scope.topic, number))
    return sorted(found)


async def partitions_of(client: Client, scopes: Collection[TopicScope]) -> list[TopicPartition]:
    """As `chosen`, of the cluster as it is now."""
    view = await client.persist(partial(client.look_up, sorted({each.topic for each in scopes})))
    return chosen(view, scopes)
