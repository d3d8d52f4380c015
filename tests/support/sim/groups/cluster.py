"""The topics of a run, as an image that grows."""

from collections.abc import Callable, Iterable

from odradek.metadata.bootstrap import feature_records
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, Image, Position
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.records.metadata import PartitionRecord, TopicRecord
from odradek.wire.schema import Message

_NODE = 1


class Cluster:
    def __init__(self) -> None:
        self.image: Image = EMPTY
        self.changed: Callable[[Delta, Image], None] = _nothing
        """Told after each change, with the image that came of it."""

    def have_features(self) -> None:
        """All that a new cluster has."""
        self._apply(*feature_records())

    def create(self, name: str, partitions: int) -> None:
        topic_id = (len(self.image.topics) + 1).to_bytes(16)
        self._apply(TopicRecord(name=name, topic_id=topic_id), *_partitions(topic_id, range(partitions)))

    def grow(self, name: str, more: int) -> None:
        """The topic gets more partitions."""
        topic = self.image.topics.names[name]
        count = len(topic.partitions)
        self._apply(*_partitions(topic.id, range(count, count + more)))

    def _apply(self, *records: Message) -> None:
        delta = Delta(self.image)
        for record in records:
            delta.replay(record)
        offset = Offset(self.image.offset + len(records))
        self.image = delta.finish(Position(offset, LeaderEpoch(1), TimestampMs(offset)))
        self.changed(delta, self.image)


def partitions_of(image: Image, topics: Iterable[str]) -> frozenset[TopicPartition]:
    found = (image.topics.get(topic) for topic in topics)
    return frozenset(TopicPartition(topic.name, number) for topic in found if topic for number in topic.partitions)


def _partitions(topic_id: bytes, numbers: Iterable[int]) -> list[PartitionRecord]:
    return [
        PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=(_NODE,),
            isr=(_NODE,),
            removing_replicas=(),
            adding_replicas=(),
            leader=_NODE,
            leader_epoch=0,
            partition_epoch=0,
            directories=(bytes(15) + b"\x0a",),
        )
        for number in numbers
    ]


def _nothing(delta: Delta, image: Image) -> None:
    return
