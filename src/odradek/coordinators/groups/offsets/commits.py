"""A commit, partition by partition: what is refused, and the answer that tells it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from odradek.metadata.image import Image, Topic
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.schema import uuid

BY_ID_SINCE = 10


class TopicOffsets(NamedTuple):
    """Offsets for partitions that are there."""

    topic: Topic
    partitions: Sequence[OffsetCommitRequestPartition]


class Outcome:
    """What became of each partition. Those refused before the group was asked are told first."""

    __slots__ = ("_answered", "_refused")

    def __init__(self) -> None:
        self._refused: dict[tuple[str, uuid], list[OffsetCommitResponsePartition]] = {}
        self._answered: list[OffsetCommitResponseTopic] = []

    def refuse(self, name: str, topic_id: uuid, partition: int, code: ErrorCode) -> None:
        refused = OffsetCommitResponsePartition(partition_index=partition, error_code=code)
        self._refused.setdefault((name, topic_id), []).append(refused)

    def answer(self, topic: Topic, partitions: Iterable[OffsetCommitResponsePartition]) -> None:
        """What the group said."""
        answered = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.id, partitions=tuple(partitions))
        self._answered.append(answered)

    def response(self) -> OffsetCommitResponse:
        """A topic that was asked for twice is told twice, unless something was refused: as Kafka has it."""
        if not self._refused:
            return OffsetCommitResponse(topics=tuple(self._answered))
        by_topic = {key: list(partitions) for key, partitions in self._refused.items()}
        for topic in self._answered:
            by_topic.setdefault((topic.name, topic.topic_id), []).extend(topic.partitions)
        return OffsetCommitResponse(
            topics=tuple(
                OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=tuple(partitions))
                for (name, topic_id), partitions in by_topic.items()
            )
        )


def known_in(request: OffsetCommitRequest, version: int, image: Image, outcome: Outcome) -> list[TopicOffsets]:
    """What a commit asks for; topics and partitions that are not there are refused in `outcome`."""
    by_id = version >= BY_ID_SINCE
    found = []
    for asked in request.topics:
        topic = image.topics.by_id(asked.topic_id) if by_id else image.topics.get(asked.name)
        if topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for each in asked.partitions:
                outcome.refuse(asked.name, asked.topic_id, each.partition_index, code)
            continue
        known: Sequence[OffsetCommitRequestPartition] = asked.partitions
        there = topic.partitions
        is_whole = True
        for each in known:
            if each.partition_index not in there:
                outcome.refuse(topic.name, topic.id, each.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                is_whole = False
        if not is_whole:
            known = [each for each in known if each.partition_index in there]
        if known:
            found.append(TopicOffsets(topic, known))
    return found


def refusal(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The same for all that was asked."""
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=tuple(answers(topic.partitions, code))
            )
            for topic in request.topics
        )
    )


def answers(partitions: Iterable[OffsetCommitRequestPartition], code: int) -> Iterator[OffsetCommitResponsePartition]:
    for each in partitions:
        yield OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)


def units(text: str) -> int:
    """How long Java says that a string is."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2
