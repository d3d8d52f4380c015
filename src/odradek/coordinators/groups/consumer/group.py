"""A consumer group as its records have it. Only replay changes it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

from odradek.coordinators.groups.consumer import records
from odradek.coordinators.groups.consumer.assignors.spec import NO_PARTITIONS as NO_TARGET
from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.coordinators.groups.consumer.errors import StaleMemberEpoch
from odradek.coordinators.groups.consumer.expressions import Matched
from odradek.coordinators.groups.consumer.member import ConsumerMember, MemberState, Subscription
from odradek.coordinators.groups.consumer.ownership import Ownership
from odradek.coordinators.groups.errors import GroupNotEmpty, IllegalGeneration, UnknownMember
from odradek.coordinators.groups.group import GroupKind, Member, PartitionCheck
from odradek.coordinators.result import Stored
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import TimestampMs
from odradek.wire.schema import uuid

T = TypeVar("T")

_COMMIT_WITH_EPOCH = 9
"""The first version of OffsetCommit that knows of member epochs."""
_FIRST_EPOCH = 1
_NEVER = TimestampMs(0)


class ConsumerGroup:
    kind = GroupKind.CONSUMER
    protocol_type = "consumer"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        """Rises with everything that calls for a new target."""
        self.metadata_hash = 0
        """Of the topics that members subscribed to, as they were when the epoch rose."""
        self.members: dict[str, ConsumerMember] = {}
        self.instances: dict[str, str] = {}
        """Ids of static members by the ids of their instances."""
        self.target_epoch = _FIRST_EPOCH
        self.target_ms = _NEVER
        """When the target was made."""
        self.targets: dict[str, Assignment] = {}
        self.matched: dict[str, Matched] = {}
        """What the regular expressions of members stand for."""
        self.has_partition_metadata = False
        """Whether there is a record of a time before there was a hash."""
        self.ownership = Ownership()
        self.subscriptions: Counter[Subscription] = Counter()
        """How many members have each."""
        self._votes: Counter[str] = Counter()
        self._checked_epoch: int | None = None
        """That the group had when its topics were compared with their hash. Not in the log."""

    # --- what others ask of any group

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    def check_commit(self, member: Member, version: int, *, transactional: bool) -> PartitionCheck | None:
        if member.epoch < 0 and not self.members:
            return None
        if transactional and member == Member("", -1):
            return None
        known = self.member(member.member_id)
        if not transactional and known.classic is None and version < _COMMIT_WITH_EPOCH:
            raise UnsupportedVersion(f"a member of a consumer group commits in version {_COMMIT_WITH_EPOCH} or later")
        if member.epoch == known.epoch:
            return None
        if member.epoch > known.epoch:
            raise _wrong_epoch(known, f"epoch {member.epoch}, where the member is in {known.epoch}")
        return _EpochCheck(known, member.epoch)

    def check_offset_fetch(self, member: Member | None) -> None:
        if member is None:
            return
        known = self.member(member.member_id)
        if member.epoch != known.epoch:
            raise _wrong_epoch(known, f"epoch {member.epoch}, where the member is in {known.epoch}")

    def check_offset_delete(self) -> None:
        return

    def check_delete(self) -> None:
        if self.members:
            raise GroupNotEmpty(f"The group {self.group_id} is not empty: it has {len(self.members)} members")

    def is_subscribed(self, topic: str) -> bool:
        return any(
            topic in names or (expression and topic in self.matched.get(expression, Matched()).topics)
            for names, expression in self.subscriptions
        )

    def expiry_base_ms(self, committed_ms: TimestampMs) -> TimestampMs | None:
        return committed_ms

    def tombstones(self) -> Iterator[Stored]:
        group_id = self.group_id
        yield from (records.no_assignment(group_id, member_id) for member_id in self.members)
        yield from (records.no_target(group_id, member_id) for member_id in self.members)
        yield records.no_target_epoch(group_id)
        yield from (records.no_description(group_id, member_id) for member_id in self.members)
        yield from (records.no_expression(group_id, pattern) for pattern in self.matched)
        yield records.no_partition_metadata(group_id)
        yield records.no_group(group_id)

    # --- what commands ask

    def member(self, member_id: str) -> ConsumerMember:
        """Raises UnknownMember."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMember(f"Member {member_id} is not a member of group {self.group_id}")
        return member

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target(self, member: ConsumerMember) -> Assignment:
        """Of a member, or of the one whose place it takes."""
        before = self.static_member(member.instance_id)
        return self.targets.get(member.member_id if before is None else before.member_id, NO_TARGET)

    def subscriptions_after(
        self, gone: Collection[ConsumerMember], joined: ConsumerMember | None = None
    ) -> Counter[Subscription]:
        """As they are once some of the members are gone or replaced."""
        after = self.subscriptions.copy()
        after.subtract(member.subscription for member in gone)
        if joined is not None:
            after[joined.subscription] += 1
        return +after

    def preferred_assignor(
        self, gone: ConsumerMember | None = None, joined: ConsumerMember | None = None
    ) -> str | None:
        """What most members ask for; None where nobody asks for any."""
        votes = self._votes.copy()
        if gone is not None and gone.server_assignor:
            votes[gone.server_assignor] -= 1
        if joined is not None and joined.server_assignor:
            votes[joined.server_assignor] += 1
        # Between two with as many, Kafka takes the one that comes first in a hash table: of its own two, uniform.
        return max(+votes, key=lambda name: (votes[name], name), default=None)

    def is_at_rest(self, member: ConsumerMember) -> bool:
        """Whether there is nothing to do for it, as long as it says nothing new."""
        return (
            member.epoch == self.target_epoch >= self.epoch
            and member.state is MemberState.STABLE
            and self.is_checked
            and not self.matched
            and not member.subscription.expression
        )

    @property
    def is_checked(self) -> bool:
        """Whether nothing happened to its topics since they were compared with the hash, as far as we know."""
        # A check whose records could not be written counts for nothing, and then the epoch is lower than it said.
        return self._checked_epoch is not None and self.epoch >= self._checked_epoch

    def checked(self, epoch: int) -> None:
        self._checked_epoch = epoch

    def call_for_check(self) -> None:
        self._checked_epoch = None

    # --- replay

    def put_member(self, member: ConsumerMember) -> None:
        self._forget(member.member_id)
        self.members[member.member_id] = member
        self.subscriptions[member.subscription] += 1
        if member.server_assignor:
            self._votes[member.server_assignor] += 1
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id
        self.ownership.take(member.member_id, member.assigned)
        self.ownership.take(member.member_id, member.revoking)

    def remove_member(self, member_id: str) -> None:
        member = self._forget(member_id)
        if member is not None:
            del self.members[member_id]
            if self.instances.get(member.instance_id or "") == member_id:
                del self.instances[member.instance_id or ""]

    def _forget(self, member_id: str) -> ConsumerMember | None:
        """What is counted of a member as it was."""
        member = self.members.get(member_id)
        if member is not None:
            _count_down(self.subscriptions, member.subscription)
            if member.server_assignor:
                _count_down(self._votes, member.server_assignor)
            self.ownership.release(member_id, member.assigned)
            self.ownership.release(member_id, member.revoking)
        return member


def topics_of(subscriptions: Collection[Subscription], matched: Mapping[str, Matched]) -> frozenset[str]:
    """All that anybody wants, by names and expressions."""
    names = [subscription.names for subscription in subscriptions]
    found = [matched[each.expression].topics for each in subscriptions if each.expression in matched]
    return frozenset().union(*names, *found)


class _EpochCheck:
    """For a commit under an earlier epoch: it holds for partitions that the member has had since then."""

    def __init__(self, member: ConsumerMember, epoch: int) -> None:
        self._member = member
        self._epoch = epoch

    def __call__(self, topic_id: uuid, partition: int) -> None:
        since = self._member.epoch_of(topic_id, partition)
        if since is None:
            raise _wrong_epoch(self._member, f"the member has not got partition {partition}")
        if self._epoch < since:
            raise _wrong_epoch(self._member, f"epoch {self._epoch}, where the member got the partition in {since}")


def _wrong_epoch(member: ConsumerMember, text: str) -> IllegalGeneration | StaleMemberEpoch:
    return StaleMemberEpoch(text) if member.classic is None else IllegalGeneration(text)


def _count_down(counts: Counter[T], key: T) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
