"""Generations and epochs, as recorded, only rise while a group has members, whichever protocol it moves to.

A group without members may be deleted, also to make room for one of the other protocol, which counts from the start.

A generation that members were told of and that nobody's assignment was recorded for is in no record. When the broker
dies then, the next generation has the same number. That does no harm: members of the first were given nothing in it.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from odradek.coordinators.result import Stored
from odradek.wire.records import classic_group as classic
from odradek.wire.records import consumer_group as consumer
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation

Key = TypeVar("Key", bound=Hashable)


class EpochsChecker(Checker):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._groups: dict[str, int] = {}
        """Generations and group epochs: a group that moves to the other protocol goes on counting."""
        self._classic: dict[str, tuple[int, list[bytes]]] = {}
        """The generation of a classic group, and what its members have."""
        self._targets: dict[str, int] = {}
        self._members: dict[tuple[str, str], int] = {}

    def appended(self, batch: Sequence[Stored]) -> None:
        for key, value, _ in batch:
            if value is None and isinstance(key, classic.GroupMetadataKey | consumer.ConsumerGroupMetadataKey):
                self._deleted(key.group if isinstance(key, classic.GroupMetadataKey) else key.group_id)
        for key, value, _ in batch:
            match key, value:
                case classic.GroupMetadataKey(), classic.GroupMetadataValue():
                    self._rise(self._groups, key.group, value.generation, f"generation of {key.group}")
                    self._generation(key.group, value)
                case consumer.ConsumerGroupMetadataKey(), consumer.ConsumerGroupMetadataValue():
                    self._rise(self._groups, key.group_id, value.epoch, f"epoch of {key.group_id}")
                case _:
                    self._inside_group(key, value)

    def _generation(self, group_id: str, value: classic.GroupMetadataValue) -> None:
        """One that is written again has another id for a static member, and the same assignments."""
        assigned = value.generation, sorted(each.assignment for each in value.members)
        before = self._classic.get(group_id)
        if before is not None and before[0] == value.generation and before != assigned:
            raise Violation(f"generation {value.generation} of {group_id} has got a second assignment")
        self._classic[group_id] = assigned

    def _deleted(self, group_id: str) -> None:
        """As it was before this batch, which may go on with its members in the other protocol."""
        _, assigned = self._classic.pop(group_id, (0, []))
        if not assigned and not any(of == group_id for of, _ in self._members):
            self._groups.pop(group_id, None)

    def _inside_group(self, key: object, value: object) -> None:
        match key, value:
            case consumer.ConsumerGroupTargetAssignmentMetadataKey(), None:
                self._targets.pop(key.group_id, None)
            case (
                consumer.ConsumerGroupTargetAssignmentMetadataKey(),
                consumer.ConsumerGroupTargetAssignmentMetadataValue(),
            ):
                self._rise(self._targets, key.group_id, value.assignment_epoch, f"assignment epoch of {key.group_id}")
            case consumer.ConsumerGroupCurrentMemberAssignmentKey(), None:
                self._members.pop((key.group_id, key.member_id), None)
            case (
                consumer.ConsumerGroupCurrentMemberAssignmentKey(),
                consumer.ConsumerGroupCurrentMemberAssignmentValue(),
            ):
                self._member(key, value)
            case _:
                pass

    def _member(
        self,
        key: consumer.ConsumerGroupCurrentMemberAssignmentKey,
        value: consumer.ConsumerGroupCurrentMemberAssignmentValue,
    ) -> None:
        member = key.group_id, key.member_id
        if value.member_epoch <= 0:
            self._members.pop(member, None)  # a static member that left for now, or a new one
            return
        self._rise(self._members, member, value.member_epoch, f"epoch of member {key.member_id}")
        if value.member_epoch > self._groups.get(key.group_id, 0):
            raise Violation(f"member {key.member_id} is in epoch {value.member_epoch}, ahead of group {key.group_id}")

    def _rise(self, floors: dict[Key, int], key: Key, epoch: int, what: str) -> None:
        if epoch < floors.get(key, epoch):
            raise Violation(f"{what} went from {floors[key]} to {epoch}")
        floors[key] = epoch
