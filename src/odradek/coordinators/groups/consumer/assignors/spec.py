"""What an assignor is given and what it gives back. The same group gets the same answer, always."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from odradek.wire.schema import uuid

Assignment: TypeAlias = Mapping[uuid, frozenset[int]]
"""Partitions by the id of their topic. A topic without any is not in it."""

NO_PARTITIONS: Assignment = MappingProxyType({})


class MemberSpec(NamedTuple):
    subscribed: frozenset[uuid]
    """The ids of the topics that it wants and that exist. Members that want the same may share one set."""
    assigned: Assignment = NO_PARTITIONS
    """Its target until now, and so what it had best keep. No partition is in the target of two members."""
    instance_id: str | None = None


class GroupSpec(NamedTuple):
    members: Mapping[str, MemberSpec]
    """By member id. Their order does not matter."""
    partitions: Mapping[uuid, int]
    """How many partitions each topic has that anybody subscribed to; others may be in it, too."""

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribed to the same topics."""
        sets = iter(member.subscribed for member in self.members.values())
        first = next(sets, frozenset())
        return all(other is first or other == first for other in sets)


GroupAssignment: TypeAlias = Mapping[str, Assignment]
"""The new target of every member. One that changes nothing is the very object that was in the spec."""

Assignor: TypeAlias = Callable[[GroupSpec], GroupAssignment]
"""Gives each partition of the subscribed topics to one member that subscribed to it."""
