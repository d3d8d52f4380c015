"""A classic group: its members, its generation, and how far it is with the next one."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from odradek.coordinators.groups.classic.member import ClassicMember, Protocol
from odradek.coordinators.groups.classic.subscription import topics_in
from odradek.coordinators.groups.errors import (
    FencedInstance,
    GroupNotEmpty,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMember,
)
from odradek.coordinators.groups.group import GroupKind, Member
from odradek.coordinators.result import Stored
from odradek.model.numbers import TimestampMs
from odradek.wire.records.classic_group import GroupMetadataKey

CONSUMER = "consumer"
"""The protocol type of groups of consumers, whose members tell which topics they want."""


class State(Enum):
    """As clients are told. Of the middle two no record says anything: after a restart the group is what it was."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members join the next generation."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation has its members, and its leader has not assigned yet."""
    STABLE = "Stable"


class InitialDelay(NamedTuple):
    """The first rebalance of a group waits until nobody came for a while."""

    delay_ms: int
    remaining_ms: int
    """How much longer it may wait after this delay."""
    grew: bool = False
    """Whether members came meanwhile."""


class ClassicGroup:
    kind = GroupKind.CLASSIC

    def __init__(self, group_id: str, now_ms: TimestampMs) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.changed_ms = now_ms
        """When the state changed; -1 where a record does not say."""
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        """The one that the generation has agreed on."""
        self.leader: str | None = None
        self.is_unled = False
        """Whether its record names no leader: it was written when a rebalance was due, and that is in no record."""
        self.members: dict[str, ClassicMember] = {}
        self.static: dict[str, str] = {}
        """Ids of members by their instance ids."""
        self.topics: frozenset[str] | None = None
        """What the generation subscribes to; None where that cannot be known."""
        self.pending: set[str] = set()
        """Ids that were given out, and whose clients have not joined with them yet."""
        self.unsynced: set[str] = set()
        """Members that have not asked for their assignment in this generation."""
        self.initial: InitialDelay | None = None
        """While the first rebalance after the group was empty waits for members."""

    # --- what others see

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def has_all_joined(self) -> bool:
        return not self.pending and all(member.joining for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """That of the slowest member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- members

    def member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """Raises if there is no such member, or another one took its place."""
        if instance_id is not None:
            holder = self.static.get(instance_id)
            if holder is None:
                raise UnknownMember(f"Instance id {instance_id} is unknown in group {self.group_id}")
            if holder != member_id:
                raise FencedInstance(
                    f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}"
                )
        found = self.members.get(member_id)
        if found is None:
            raise UnknownMember(f"Member {member_id} is not a member of group {self.group_id}")
        return found

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """A member, or an id that nobody joined with. Another member leads if it was the leader."""
        removed = self.members.pop(member_id, None)
        if removed is not None and removed.instance_id is not None:
            del self.static[removed.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)

    def rename(self, old_id: str, new_id: str) -> ClassicMember:
        """A static member goes on under another id: in its place among the others, and as leader if it led."""
        member = self.members[old_id]
        assert member.instance_id is not None
        member.member_id = self.static[member.instance_id] = new_id
        self.members = {each.member_id: each for each in self.members.values()}
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.unsynced:
            self.unsynced.remove(old_id)
            self.unsynced.add(new_id)
        return member

    def elect_joined(self) -> bool:
        """A leader that has joined the next generation; False where no member has."""
        if self.leader is None:
            return False
        if self.members[self.leader].joining is None:
            joined = (member.member_id for member in self.members.values() if member.joining)
            elected = next(joined, None)
            if elected is None:
                return False
            self.leader = elected
        return True

    # --- protocols

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Whether all members know one of the protocols."""
        if self.is_empty:
            return bool(protocol_type and protocols)
        return protocol_type == self.protocol_type and any(self._all_know(each.name) for each in protocols)

    def elect_protocol(self) -> str:
        """The favourite of most among those that all members know. There are members, and there is one."""
        some_member = next(iter(self.members.values()))
        candidates = [each.name for each in some_member.protocols if self._all_know(each.name)]
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def _all_know(self, protocol: str) -> bool:
        return all(member.knows(protocol) for member in self.members.values())

    def subscribed_topics(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER:
            return None
        found: set[str] = set()
        for member in self.members.values():
            topics = topics_in(member.metadata(self.protocol))
            if topics is None:
                return None
            found.update(topics)
        return frozenset(found)

    # --- offsets

    def check_commit(self, member: Member, version: int, *, transactional: bool) -> None:
        if self.is_empty and member.epoch < 0:
            return
        if member.epoch >= 0 or member.member_id or member.instance_id is not None:
            self.member(member.member_id, member.instance_id)
            if member.epoch != self.generation:
                raise IllegalGeneration(f"group {self.group_id} is in generation {self.generation}")
        elif not transactional:
            raise UnknownMember(f"group {self.group_id} has members, and offsets are committed by them alone")
        if not transactional and self.state is State.COMPLETING_REBALANCE:
            raise RebalanceInProgress(f"group {self.group_id} rebalances")

    def check_offset_fetch(self, member: Member | None) -> None:
        """Anybody may ask."""

    def check_offset_delete(self) -> None:
        if not self.is_empty and self.protocol_type != CONSUMER:
            raise GroupNotEmpty(f"The group {self.group_id} is not empty, and nobody knows what its members use")

    def check_delete(self) -> None:
        if not self.is_empty:
            raise GroupNotEmpty(f"The group {self.group_id} is not empty")

    def is_subscribed(self, topic: str) -> bool:
        return self.protocol_type == CONSUMER if self.topics is None else topic in self.topics

    def expiry_base_ms(self, committed_ms: TimestampMs) -> TimestampMs | None:
        if not self.protocol_type:
            return committed_ms
        if self.is_empty:
            return committed_ms if self.changed_ms < 0 else self.changed_ms
        if self.state is State.STABLE and self.topics is not None:
            return committed_ms
        return None

    def tombstones(self) -> Iterator[Stored]:
        yield Stored(GroupMetadataKey(group=self.group_id), None)
