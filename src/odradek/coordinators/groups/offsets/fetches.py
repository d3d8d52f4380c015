"""What groups have committed, as OffsetFetch asks for it."""

from collections.abc import Iterator, Sequence

from odradek.coordinators.groups.offsets.committed import Committed
from odradek.coordinators.groups.offsets.pending import PendingOffsets
from odradek.coordinators.groups.offsets.table import OffsetTable
from odradek.metadata.image import Image
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_OFFSET
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from odradek.wire.schema import NO_UUID, uuid

BY_ID_SINCE = 10


class OffsetFetches:
    """One group's offsets. With `pending`, partitions with open transactions are told to be unstable."""

    def __init__(
        self, group_id: str, table: OffsetTable | None, pending: PendingOffsets | None, image: Image, version: int
    ) -> None:
        """Without `table` the group has none."""
        self._group_id = group_id
        self._table = table
        self._pending = pending
        self._image = image
        self._by_id = version >= BY_ID_SINCE

    def some(self, topics: Sequence[OffsetFetchRequestTopics]) -> Iterator[OffsetFetchResponseTopics]:
        """Topics with an unknown id come last."""
        unknown = []
        for asked in topics:
            name = asked.name
            if self._by_id:
                topic = None if asked.topic_id == NO_UUID else self._image.topics.by_id(asked.topic_id)
                if topic is None:
                    unknown.append(asked)
                    continue
                name = topic.name
            partitions = [self._partition(name, asked.topic_id, each) for each in asked.partition_indexes]
            yield OffsetFetchResponseTopics(name=name, topic_id=asked.topic_id, partitions=tuple(partitions))
        for asked in unknown:
            refused = [_none(each, ErrorCode.UNKNOWN_TOPIC_ID) for each in asked.partition_indexes]
            yield OffsetFetchResponseTopics(topic_id=asked.topic_id, partitions=tuple(refused))

    def all(self) -> Iterator[OffsetFetchResponseTopics]:
        if self._table is None:
            return
        for name in self._table.topics(self._group_id):
            topic = self._image.topics.get(name)
            if topic is None and self._by_id:
                continue  # there is no way to tell of it
            partitions = [
                self._told(name, partition, committed)
                for partition, committed in self._table.of_topic(self._group_id, name)
            ]
            yield OffsetFetchResponseTopics(
                name=name, topic_id=topic.id if topic else NO_UUID, partitions=tuple(partitions)
            )

    def _partition(self, topic: str, topic_id: uuid, partition: int) -> OffsetFetchResponsePartitions:
        committed = self._table.get(self._group_id, topic, partition) if self._table is not None else None
        if committed is not None and NO_UUID not in (committed.topic_id, topic_id) and committed.topic_id != topic_id:
            committed = None  # of a topic that had the same name
        return self._told(topic, partition, committed)

    def _told(self, topic: str, partition: int, committed: Committed | None) -> OffsetFetchResponsePartitions:
        if self._pending is not None and self._pending.has(self._group_id, topic, partition):
            return _none(partition, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        if committed is None:
            return _none(partition)
        return OffsetFetchResponsePartitions(
            partition_index=partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
        )


def _none(partition: int, code: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition, committed_offset=NO_OFFSET, metadata="", error_code=code
    )
