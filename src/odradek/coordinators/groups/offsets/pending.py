"""Offsets that transactions committed and that do not count before those are committed themselves."""

from odradek.coordinators.groups.offsets.table import OffsetTable
from odradek.model.numbers import ProducerId

_Place = tuple[str, int]
"""A topic's name and a partition."""


class PendingOffsets:
    __slots__ = ("_groups", "_tables")

    def __init__(self) -> None:
        self._tables: dict[ProducerId, OffsetTable] = {}
        self._groups: dict[str, dict[_Place, list[ProducerId]]] = {}
        """Whose transactions are open for a partition. Most of the time there are none at all."""

    def put(self, producer_id: ProducerId, group_id: str, place: _Place, packed: bytes) -> None:
        self._tables.setdefault(producer_id, OffsetTable()).put(group_id, *place, packed)
        producers = self._groups.setdefault(group_id, {}).setdefault(place, [])
        if producer_id not in producers:
            producers.append(producer_id)

    def has_group(self, group_id: str) -> bool:
        return group_id in self._groups

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        return (topic, partition) in self._groups.get(group_id, ())

    def places(self, group_id: str) -> tuple[_Place, ...]:
        return tuple(self._groups.get(group_id, ()))

    def groups_with(self, topic: str) -> dict[str, list[int]]:
        """Groups with the partitions of this topic."""
        found: dict[str, list[int]] = {}
        for group_id, places in self._groups.items():
            partitions = [partition for name, partition in places if name == topic]
            if partitions:
                found[group_id] = partitions
        return found

    def topic_ids(self, group_id: str, topic: str, partition: int) -> list[bytes]:
        """Which ids the topic had when it was committed."""
        tables = [self._tables[each] for each in self._groups.get(group_id, {}).get((topic, partition), ())]
        return [found.topic_id for table in tables if (found := table.get(group_id, topic, partition))]

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """From all transactions. Nothing happens where there is none."""
        for producer_id in self._groups.get(group_id, {}).get((topic, partition), ()):
            self._tables[producer_id].remove(group_id, topic, partition)
        self._close(group_id, (topic, partition))

    def end(self, producer_id: ProducerId) -> OffsetTable:
        """The transaction is decided: what it had."""
        table = self._tables.pop(producer_id, None) or OffsetTable()
        for group_id, topic, partition, _ in table:
            producers = self._groups[group_id][topic, partition]
            producers.remove(producer_id)
            if not producers:
                self._close(group_id, (topic, partition))
        return table

    def _close(self, group_id: str, place: _Place) -> None:
        places = self._groups.get(group_id)
        if places is not None:
            places.pop(place, None)
            if not places:
                del self._groups[group_id]
