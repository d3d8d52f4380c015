"""Which topics and partitions a command about groups is for, and what it says of groups that it cannot do it for."""

import argparse
from dataclasses import dataclass

from odradek.client.errors import ClientError, Refused
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition

_REASONS = {
    ErrorCode.NON_EMPTY_GROUP: "it has members: stop them first",
    ErrorCode.UNKNOWN_MEMBER_ID: "it has members: stop them first",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "members subscribe to the topic",
}
"""In place of messages: the protocol has none for these."""


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
        raise argparse.ArgumentTypeError(f"{text!r} must be TOPIC or TOPIC:0,1")
    if not colon:
        return TopicScope(topic)
    words = [word.strip() for word in numbers.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} must be TOPIC or TOPIC:0,1")
    return TopicScope(topic, tuple(sorted(set(map(int, words)))))


def add_topics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--topic",
        metavar="TOPIC[:0,1]",
        type=parse_scope,
        action="append",
        default=[],
        help="a topic, or some partitions of it; may be repeated",
    )


def complaint(name: str, error: ClientError) -> str:
    if not isinstance(error, Refused):
        return f"{name}: {error}"
    if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
        return f"there is no group {name}"
    reason = None if error.message else _REASONS.get(error.code)
    return f"{name}: {reason} ({error.code.name})" if reason else f"{name}: {error}"
