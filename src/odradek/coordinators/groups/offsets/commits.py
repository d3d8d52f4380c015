"""A commit, partition by partition: what is refused, and the answer that tells it."""

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


class Wanted(NamedTuple):
    """Offsets for partitions that are there."""

    topic: Topic
    partitions: list[OffsetCommitRequestPartition]


class Outcome:
    """What became of each partition. Those refused before the group was asked are told first."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics: dict[tuple[str, uuid], list[OffsetCommitResponsePartition]] = {}

    def add(self, name: str, topic_id: uuid, partition: int, code: int = ErrorCode.NONE) -> None:
        found = self._topics.get((name, topic_id))
        if found is None:
            found = self._topics[name, topic_id] = []
        found.append(OffsetCommitResponsePartition(partition_index=partition, error_code=code))

    def response(self) -> OffsetCommitResponse:
        return OffsetCommitResponse(
            topics=tuple(
                [
                    OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=tuple(partitions))
                    for (name, topic_id), partitions in self._topics.items()
                ]
            )
        )


def wanted_in(request: OffsetCommitRequest, version: int, image: Image, outcome: Outcome) -> list[Wanted]:
    """What a commit asks for; topics and partitions that are not there are refused in `outcome`."""
    by_id = version >= BY_ID_SINCE
    found = []
    for asked in request.topics:
        topic = image.topics.by_id(asked.topic_id) if by_id else image.topics.get(asked.name)
        if topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for each in asked.partitions:
                outcome.add(asked.name, asked.topic_id, each.partition_index, code)
            continue
        known = [each for each in asked.partitions if each.partition_index in topic.partitions]
        if len(known) != len(asked.partitions):
            for each in asked.partitions:
                if each.partition_index not in topic.partitions:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    outcome.add(topic.name, topic.id, each.partition_index, code)
        if known:
            found.append(Wanted(topic, known))
    return found


def refusal(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The same for all that was asked."""
    outcome = Outcome()
    for topic in request.topics:
        for each in topic.partitions:
            outcome.add(topic.name, topic.topic_id, each.partition_index, code)
    return outcome.response()


def units(text: str) -> int:
    """How long Java says that a string is."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2
