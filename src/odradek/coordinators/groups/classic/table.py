"""The classic groups of a shard, among the others, and those that are about to be."""

from collections.abc import Iterator

from odradek.coordinators.groups.classic import record
from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.errors import GroupNotEmpty
from odradek.coordinators.groups.group import Group, GroupKind
from odradek.coordinators.result import Stored
from odradek.model.clock import Clock

_REPLACEABLE = (GroupKind.CONSUMER, GroupKind.STREAMS)


class ClassicTable:
    def __init__(self, groups: dict[str, Group], clock: Clock) -> None:
        self._groups = groups
        self._clock = clock
        self._forming: dict[str, ClassicGroup] = {}
        """Groups that members join already, and of which the first record is not written yet."""

    def __iter__(self) -> Iterator[ClassicGroup]:
        return (group for group in self._groups.values() if isinstance(group, ClassicGroup))

    def find(self, group_id: str) -> ClassicGroup | None:
        found = self._groups.get(group_id)
        if isinstance(found, ClassicGroup):
            return found
        return None if self.is_taken(group_id) else self._forming.get(group_id)

    def is_taken(self, group_id: str) -> bool:
        """Whether a group of another kind has this id, and does not make way: it has members, or never does."""
        group = self._groups.get(group_id)
        if group is None or isinstance(group, ClassicGroup):
            return False
        if group.kind not in _REPLACEABLE:
            return True
        try:
            group.check_delete()
        except GroupNotEmpty:
            return True
        return False

    def form(self, group_id: str) -> ClassicGroup:
        """A group that is not in the log yet."""
        group = self._forming[group_id] = ClassicGroup(group_id, self._clock.now_ms())
        return group

    def first_records(self, group: ClassicGroup) -> tuple[Stored, ...]:
        """What puts the group into the log, and an empty one of another kind out of it; nothing if it is there."""
        if group.group_id not in self._forming:
            return ()
        replaced = self._groups.get(group.group_id)
        return (*(replaced.tombstones() if replaced is not None else ()), record.made(group))

    def recorded(self, group_id: str) -> ClassicGroup:
        """A record was read of it. It takes the place of whatever had its id."""
        group = self.find(group_id)
        if group is None:
            group = ClassicGroup(group_id, self._clock.now_ms())
        self._forming.pop(group_id, None)
        self._groups[group_id] = group
        return group

    def remove(self, group_id: str) -> ClassicGroup | None:
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return None
        del self._groups[group_id]
        return group
