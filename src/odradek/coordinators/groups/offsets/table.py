"""Committed offsets by group, topic and partition."""

from collections.abc import Iterator, Mapping

from odradek.coordinators.groups.offsets.committed import Committed, unpack

_Partitions = dict[int, bytes]
_NOTHING: Mapping[str, _Partitions] = {}


class OffsetTable:
    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, _Partitions]] = {}

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._groups

    def get(self, group_id: str, topic: str, partition: int) -> Committed | None:
        packed = self._groups.get(group_id, _NOTHING).get(topic, {}).get(partition)
        return None if packed is None else unpack(packed)

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        return partition in self._groups.get(group_id, _NOTHING).get(topic, ())

    def put(self, group_id: str, topic: str, partition: int, packed: bytes) -> None:
        topics = self._groups.get(group_id)
        if topics is None:
            topics = self._groups[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        partitions[partition] = packed

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Nothing happens where there is none."""
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
            if not topics:
                del self._groups[group_id]

    def topics(self, group_id: str) -> tuple[str, ...]:
        """Of which the group has offsets."""
        return tuple(self._groups.get(group_id, _NOTHING))

    def of_topic(self, group_id: str, topic: str) -> Iterator[tuple[int, Committed]]:
        """By partition. Nothing may be changed meanwhile."""
        for partition, packed in self._groups.get(group_id, _NOTHING).get(topic, {}).items():
            yield partition, unpack(packed)

    def count(self, group_id: str) -> int:
        return sum(map(len, self._groups.get(group_id, _NOTHING).values()))

    def groups_with(self, topic: str) -> list[str]:
        return [group_id for group_id, topics in self._groups.items() if topic in topics]

    def __iter__(self) -> Iterator[tuple[str, str, int, Committed]]:
        for group_id, topics in self._groups.items():
            for topic, partitions in topics.items():
                for partition, packed in partitions.items():
                    yield group_id, topic, partition, unpack(packed)
