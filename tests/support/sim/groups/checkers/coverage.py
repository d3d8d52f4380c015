"""At every stable moment each partition has one owner, and all partitions of subscribed topics are owned.

A group is stable when the coordinator says so, its members are just the consumers that run, and each of these has done
what it was told and has what is recorded for it. In a classic group all partitions are those that the leader knew when
it assigned.

There is one gap, in the protocol itself and so with Kafka, too. A leader of a cooperative group gives a partition to
nobody as long as its owner still has it: the owner gives it up and joins again, for the next generation. Where the
owner is a static member that restarts instead, it comes back without a rebalance and knows nothing of that. Nobody has
the partition then until the next rebalance, whatever that comes from.
"""

import re

from odradek.coordinators.groups.group import GroupKind
from odradek.model.topic_partition import TopicPartition
from support.sim.admin import partitions_of
from support.sim.groups.checkers.recorded import MemberRecord, Recorded
from support.sim.groups.classic import ClassicConsumer
from support.sim.groups.consumer import Consumer
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation

_NOTICE_MS = 30_000
"""How long it may take a consumer group to notice new topics and partitions: a heartbeat, and for regular expressions
the time between two looks."""


class CoverageChecker(Checker):
    def __init__(self, world: World, recorded: Recorded) -> None:
        super().__init__(world)
        self._recorded = recorded
        self._topics: object = None
        self._changed_ms = 0
        self.stable_moments = 0

    def ticked(self) -> None:
        if self._topics is not self.world.admin.image.topics:
            self._topics = self.world.admin.image.topics
            self._changed_ms = self.world.events.now_ms
        if self.world.broker.is_active:
            for group_id in dict.fromkeys(each.spec.group_id for each in self.world.consumers):
                if self.why_unstable(group_id) is None:
                    self.stable_moments += 1
                    self._check(group_id)

    def why_unstable(self, group_id: str) -> str | None:
        consumers = self.world.of_group(group_id)
        for each in consumers:
            if each.process.is_paused or not each.line.is_ready or not each.is_at_rest():
                return f"{each.spec.name} is not at rest"
        group = self.world.broker.shard.groups.get(group_id)
        if group is None or group.state_name != "Stable":
            return f"the group is {'not there' if group is None else group.state_name}"
        members = self._members(group_id)
        running = {each.member_id: MemberRecord(each.epoch, each.owned) for each in consumers}
        if members != running:
            return f"its members are {members}, and those that run {running}"
        return None

    def _members(self, group_id: str) -> dict[str, MemberRecord]:
        if self.world.broker.shard.groups[group_id].kind is GroupKind.CONSUMER:
            return self._recorded.consumer[group_id].members
        classic = self._recorded.classic[group_id]
        return {member_id: MemberRecord(classic.generation, held) for member_id, held in classic.members.items()}

    def _check(self, group_id: str) -> None:
        consumers = self.world.of_group(group_id)
        owners: dict[TopicPartition, str] = {}
        for each in consumers:
            for partition in each.positions:
                if partition in owners:
                    raise Violation(f"{group_id}: {partition} is owned by {owners[partition]} and {each.spec.name}")
                owners[partition] = each.spec.name
        expected = self._expected(group_id, consumers)
        if expected is not None and owners.keys() != expected:
            raise Violation(
                f"{group_id} is stable, but nobody owns {sorted(expected - owners.keys())}, "
                f"and {sorted(owners.keys() - expected)} should have no owner"
            )

    def _expected(self, group_id: str, consumers: list[Consumer]) -> frozenset[TopicPartition] | None:
        """None where the group may not have noticed yet what there is."""
        if self.world.broker.shard.groups[group_id].kind is GroupKind.CLASSIC:
            classic = self._recorded.classic[group_id]
            if classic.is_renamed:
                return frozenset[TopicPartition]().union(*classic.members.values())
            return self.world.assigned_over.get((group_id, classic.generation))
        if self.world.events.now_ms - self._changed_ms < _NOTICE_MS:
            return None
        return subscribed(self.world, consumers)

    def check_whole(self, group_id: str) -> None:
        """The group has had time to notice everything."""
        consumers = self.world.of_group(group_id)
        self._check(group_id)
        leaders = [each for each in consumers if isinstance(each, ClassicConsumer) and each.assigned_over is not None]
        for leader in leaders:
            if leader.assigned_over != subscribed(self.world, consumers):
                raise Violation(f"{group_id}: the leader {leader.spec.name} has not noticed all partitions")


def subscribed(world: World, consumers: list[Consumer]) -> frozenset[TopicPartition]:
    """All partitions that one of these wants to have."""
    topics = {topic for each in consumers for topic in each.spec.topics}
    patterns = [re.compile(each.spec.regex) for each in consumers if each.spec.regex is not None]
    names = world.admin.image.topics.names
    topics.update(name for name in names for pattern in patterns if pattern.fullmatch(name))
    return partitions_of(world.admin.image, topics)
