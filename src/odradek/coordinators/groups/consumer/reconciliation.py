"""How a member gets from what it has to what it should have: it gives back first, then it gets what is free."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.coordinators.groups.consumer.errors import FencedMemberEpoch
from odradek.coordinators.groups.consumer.member import NO_PARTITIONS, ConsumerMember, MemberState, Partitions
from odradek.coordinators.groups.consumer.ownership import Ownership
from odradek.wire.messages.consumer_group_heartbeat import TopicPartitions
from odradek.wire.schema import uuid


@dataclass(frozen=True, slots=True)
class Reconciliation:
    target_epoch: int
    target: Assignment
    subscribed: Container[uuid]
    """The topics that the member wants now; the target may be older."""
    ownership: Ownership
    owned: Sequence[TopicPartitions] | None
    """What the member says that it has; None where it does not say."""

    def advance(self, member: ConsumerMember, *, resubscribed: bool) -> ConsumerMember:
        """As far as it gets now; the same object if nowhere. Raises FencedMemberEpoch for one in an unknown state."""
        match member.state:
            case MemberState.STABLE:
                if member.epoch != self.target_epoch:
                    return self._next(member, member.epoch)
                return self._without_unwanted(member) if resubscribed else member
            case MemberState.UNREVOKED_PARTITIONS:
                if not self._owns(member.revoking):
                    return self._next(member, member.epoch)
                return self._without_unwanted(member) if resubscribed else member
            case MemberState.UNRELEASED_PARTITIONS:
                return self._next(member, member.epoch)
            case MemberState.UNKNOWN:
                if self.owned is None or self.owned:
                    raise FencedMemberEpoch("the member is in a state that is not known here, and must join anew")
                return self._next(member, self.target_epoch)

    def _next(self, member: ConsumerMember, epoch: int) -> ConsumerMember:
        """On the way to the target: `epoch` is what the member has while it gives back."""
        assigned: dict[uuid, dict[int, int]] = {}
        revoking: dict[uuid, dict[int, int]] = {}
        is_complete = True
        for topic_id in dict.fromkeys((*self.target, *member.assigned)):
            wanted = self.target.get(topic_id, frozenset()) if topic_id in self.subscribed else frozenset()
            had = member.assigned.get(topic_id, {})
            kept = {partition: since for partition, since in had.items() if partition in wanted}
            if len(kept) < len(had):
                revoking[topic_id] = {partition: since for partition, since in had.items() if partition not in wanted}
            if kept:
                assigned[topic_id] = kept
        if revoking and self._owns(revoking):
            return _moved(member, MemberState.UNREVOKED_PARTITIONS, epoch, assigned, revoking)
        for topic_id, partitions in self.target.items():
            if topic_id in self.subscribed:
                kept = assigned.get(topic_id, {})
                free = [each for each in partitions if each not in kept and self._is_free(member, topic_id, each)]
                is_complete &= len(kept) + len(free) == len(partitions)
                if free:
                    assigned[topic_id] = kept | dict.fromkeys(free, self.target_epoch)
        state = MemberState.STABLE if is_complete else MemberState.UNRELEASED_PARTITIONS
        return _moved(member, state, self.target_epoch, assigned, NO_PARTITIONS)

    def _without_unwanted(self, member: ConsumerMember) -> ConsumerMember:
        """Topics that it does not want any more are taken from it before there is a new target."""
        assigned = {topic_id: had for topic_id, had in member.assigned.items() if topic_id in self.subscribed}
        if len(assigned) == len(member.assigned):
            return member
        revoking = dict(member.revoking)
        for topic_id, had in member.assigned.items():
            if topic_id not in assigned:
                revoking[topic_id] = {**revoking.get(topic_id, {}), **had}
        if self._owns(revoking):
            return _moved(member, MemberState.UNREVOKED_PARTITIONS, member.epoch, assigned, revoking)
        return _moved(member, member.state, member.epoch, assigned, member.revoking)

    def _owns(self, partitions: Partitions) -> bool:
        """Whether the member may have any of them still."""
        return self.owned is None or any(
            partition in partitions.get(topic.topic_id, {}) for topic in self.owned for partition in topic.partitions
        )

    def _is_free(self, member: ConsumerMember, topic_id: uuid, partition: int) -> bool:
        owner = self.ownership.owner(topic_id, partition)
        return owner is None or partition in member.revoking.get(topic_id, {})


def _moved(
    member: ConsumerMember,
    state: MemberState,
    epoch: int,
    assigned: Mapping[uuid, Mapping[int, int]],
    revoking: Partitions,
) -> ConsumerMember:
    moved = replace(member, state=state, epoch=epoch, previous_epoch=member.epoch, assigned=assigned, revoking=revoking)
    return member if moved == member else moved
