"""Groups as their records tell, read on its own: what others compare the coordinator's doings with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from odradek.coordinators.result import Stored
from odradek.model.topic_partition import TopicPartition
from odradek.wire.records import classic_group as classic
from odradek.wire.records import consumer_group as consumer
from support.sim.groups.embedded import read_assignment
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation

Partitions = frozenset[TopicPartition]


@dataclass(frozen=True)
class ClassicRecord:
    generation: int
    members: dict[str, Partitions]
    is_renamed: bool = False
    """Whether a static member came back within the generation, under another id."""


@dataclass(frozen=True)
class MemberRecord:
    epoch: int
    held: Partitions
    """What it was given, and what it has to give back and may not have yet."""


@dataclass
class ConsumerRecord:
    epoch: int
    members: dict[str, MemberRecord] = field(default_factory=dict)


class Recorded(Checker):
    """Also sees to it that the records of a consumer group never give a partition to two members."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.classic: dict[str, ClassicRecord] = {}
        self.consumer: dict[str, ConsumerRecord] = {}

    def appended(self, batch: Sequence[Stored]) -> None:
        touched: dict[str, None] = {}
        for key, value, _ in batch:
            match key:
                case classic.GroupMetadataKey():
                    self._classic(key, value)
                case consumer.ConsumerGroupMetadataKey():
                    self._group(key, value)
                case consumer.ConsumerGroupCurrentMemberAssignmentKey():
                    self._member(key, value)
                    touched[key.group_id] = None
                case _:
                    pass
        for group_id in touched:
            self._check_held_once(group_id)

    def _classic(self, key: classic.GroupMetadataKey, value: object) -> None:
        before = self.classic.pop(key.group, None)
        if isinstance(value, classic.GroupMetadataValue):
            members = {each.member_id: frozenset(read_assignment(each.assignment)) for each in value.members}
            is_same = before is not None and before.generation == value.generation
            is_renamed = is_same and before is not None and before.members.keys() != members.keys()
            self.classic[key.group] = ClassicRecord(value.generation, members, is_renamed)

    def _group(self, key: consumer.ConsumerGroupMetadataKey, value: object) -> None:
        if not isinstance(value, consumer.ConsumerGroupMetadataValue):
            self.consumer.pop(key.group_id, None)
        elif key.group_id in self.consumer:
            self.consumer[key.group_id].epoch = value.epoch
        else:
            self.consumer[key.group_id] = ConsumerRecord(value.epoch)

    def _member(self, key: consumer.ConsumerGroupCurrentMemberAssignmentKey, value: object) -> None:
        if isinstance(value, consumer.ConsumerGroupCurrentMemberAssignmentValue):
            held = self._named(value.assigned_partitions) | self._named(value.partitions_pending_revocation)
            group = self.consumer.setdefault(key.group_id, ConsumerRecord(-1))
            group.members[key.member_id] = MemberRecord(value.member_epoch, held)
        elif key.group_id in self.consumer:
            self.consumer[key.group_id].members.pop(key.member_id, None)

    def _named(self, topics: Iterable[consumer.TopicPartitions]) -> Partitions:
        ids = self.world.admin.image.topics.ids
        return frozenset(
            TopicPartition(ids[each.topic_id].name, number) for each in topics for number in each.partitions
        )

    def _check_held_once(self, group_id: str) -> None:
        holders: dict[TopicPartition, str] = {}
        for member_id, member in self.consumer[group_id].members.items() if group_id in self.consumer else ():
            for partition in member.held:
                if partition in holders:
                    raise Violation(f"{group_id}: {partition} is recorded for {holders[partition]} and {member_id}")
                holders[partition] = member_id
