"""The uniform assignor where members subscribed to different topics: as even as a walk over the topics makes it.

Members keep what they have of the topics that they still want. What nobody has goes to the member with the fewest
partitions among those who want it. Then, topic by topic, members with the most give to those with the fewest, until a
walk over all topics moves nothing. To find the most even of all assignments would take far longer for little.
"""

from struct import Struct

from odradek.coordinators.groups.consumer.assignors.spec import Assignment, GroupAssignment, GroupSpec
from odradek.wire.schema import uuid

_SIGNED_HALVES = Struct(">qq")
_NOBODY = -1
_WALKS_MAX = 16
"""A bound on the time that it takes. Few groups need more than three."""


def assign_heterogeneous(spec: GroupSpec) -> GroupAssignment:
    ownership = _Ownership(spec)
    ownership.assign_rest()
    ownership.balance()
    return ownership.targets()


class _Ownership:
    """Who has which partition. Members go by their place in the order of their ids."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._member_ids = sorted(spec.members)
        self._subscribers: dict[uuid, list[int]] = {}
        for at, member_id in enumerate(self._member_ids):
            for topic in spec.members[member_id].subscribed:
                self._subscribers.setdefault(topic, []).append(at)
        self._topics = sorted(self._subscribers, key=self._rank)
        self._owners = {topic: [_NOBODY] * spec.partitions[topic] for topic in self._topics}
        self._sizes = [0] * len(self._member_ids)
        for at, member_id in enumerate(self._member_ids):
            member = spec.members[member_id]
            for topic, partitions in member.assigned.items():
                if topic in member.subscribed:
                    self._sizes[at] += len(partitions)
                    for partition in partitions:
                        self._owners[topic][partition] = at

    def assign_rest(self) -> None:
        for topic in self._topics:
            unassigned = [partition for partition, owner in enumerate(self._owners[topic]) if owner == _NOBODY]
            if unassigned:
                loads = _Loads(self._subscribers[topic], self._sizes)
                for partition in unassigned:
                    self._give(topic, partition, loads.next_least())

    def balance(self) -> None:
        topics = [topic for topic in self._topics if len(self._subscribers[topic]) > 1]
        unmoved = -1
        for _ in range(_WALKS_MAX):
            for topic in topics:
                unmoved = 0 if self._balance_topic(topic) else unmoved + 1
                if unmoved == len(topics) - 1:
                    return  # all others are as they should be, and the next one is the one that moved last

    def targets(self) -> GroupAssignment:
        found: list[dict[uuid, list[int]]] = [{} for _ in self._member_ids]
        for topic, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                found[owner].setdefault(topic, []).append(partition)
        targets: dict[str, Assignment] = {}
        for member_id, of_member in zip(self._member_ids, found, strict=True):
            before = self._spec.members[member_id].assigned
            target = {topic: frozenset(partitions) for topic, partitions in of_member.items()}
            targets[member_id] = before if target == before else target
        return targets

    def _rank(self, topic: uuid) -> tuple[float, int, tuple[int, ...]]:
        """Most partitions for a subscriber first, then fewest subscribers. Ids compare as in Java: as signed halves."""
        subscribers = len(self._subscribers[topic])
        return -self._spec.partitions[topic] / subscribers, subscribers, _SIGNED_HALVES.unpack(topic)

    def _balance_topic(self, topic: uuid) -> bool:
        """Whether anything moved."""
        subscribers = self._subscribers[topic]
        sizes = [self._sizes[at] for at in subscribers]
        if max(sizes) - min(sizes) <= 1:
            return False
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic]):
            held.setdefault(owner, []).append(partition)
        loads = _Loads(subscribers, self._sizes)
        moved = False
        while not loads.even():
            giver = loads.next_most()
            while giver is not None and not held.get(giver):
                loads.exclude_most()
                giver = loads.next_most()
            if giver is None:
                break
            partition = held[giver].pop()
            taker = loads.next_least()
            if loads.even():
                break
            self._give(topic, partition, taker)
            moved = True
        return moved

    def _give(self, topic: uuid, partition: int, taker: int) -> None:
        before = self._owners[topic][partition]
        if before != _NOBODY:
            self._sizes[before] -= 1
        self._owners[topic][partition] = taker
        self._sizes[taker] += 1


class _Loads:
    """Members by how many partitions they have, while those with few get more and those with many give away.

    Whoever is named next is taken to get one, or to give one away. At the lower end that raises the water: all who have
    the fewest get one, then they and those who had one more to begin with. At the upper end it is the same with giving.
    """

    def __init__(self, members: list[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(members, key=sizes.__getitem__)
        self._lowest = sizes[self._sorted[0]] - 1
        self._low_end = 0
        self._low_next = 0
        self._highest = sizes[self._sorted[-1]] + 1
        self._high_start = self._high_end = len(members)
        """Those at and past the end have nothing to give."""
        self._high_next = len(members) - 1

    def even(self) -> bool:
        return self._highest - self._lowest <= 1

    def next_least(self) -> int:
        if self._low_next >= self._low_end:
            self._lowest += 1
            while self._low_end < len(self._sorted) and self._size_at(self._low_end) == self._lowest:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._sorted[self._low_next - 1]

    def next_most(self) -> int | None:
        """None where all were excluded."""
        if self._high_next < self._high_start:
            nobody_gives = self._high_end <= self._high_start
            self._highest = (
                self._size_at(self._high_start - 1) if nobody_gives and self._high_start else self._highest - 1
            )
            while self._high_start and self._size_at(self._high_start - 1) == self._highest:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._sorted[self._high_next + 1]

    def exclude_most(self) -> None:
        """The one named last has nothing to give."""
        at, last = self._high_next + 1, self._high_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._high_end = last

    def _size_at(self, place: int) -> int:
        return self._sizes[self._sorted[place]]
