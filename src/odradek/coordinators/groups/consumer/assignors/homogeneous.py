"""The uniform assignor where all members subscribed to the same topics: how many each gets is known beforehand.

Everyone gets the same number of partitions, or one more. Members keep what they have up to that, and what is left goes
to those who have less. So no more partitions move than must.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from odradek.coordinators.groups.consumer.assignors.spec import Assignment, GroupAssignment, GroupSpec
from odradek.wire.schema import uuid

_TopicPartition = tuple[uuid, int]


def assign_homogeneous(spec: GroupSpec) -> GroupAssignment:
    topics = {
        topic: spec.partitions[topic] for member in islice(spec.members.values(), 1) for topic in member.subscribed
    }
    least, extra = divmod(sum(topics.values()), len(spec.members))
    free = _unassigned(spec, topics)
    targets: dict[str, Assignment] = {}
    lacking: list[tuple[str, int]] = []
    for still_to_come, member_id in zip(range(len(spec.members), 0, -1), sorted(spec.members), strict=True):
        quota = least + (extra > 0)
        kept, given_up = _keep(spec.members[member_id].assigned, topics, quota)
        missing = quota - sum(map(len, kept.values()))
        if extra:
            # One that has to be given its last partition leaves that to others, who may have theirs already, unless
            # only as many are to come as must have one more.
            if missing and still_to_come > extra:
                missing -= 1
            else:
                extra -= 1
        targets[member_id] = kept
        free += given_up
        if missing:
            lacking.append((member_id, missing))
    pool = iter(free)
    for member_id, missing in lacking:
        targets[member_id] = _with(targets[member_id], islice(pool, missing))
    return targets


def _unassigned(spec: GroupSpec, topics: dict[uuid, int]) -> list[_TopicPartition]:
    taken: dict[uuid, set[int]] = {topic: set() for topic in topics}
    for member in spec.members.values():
        for topic, partitions in member.assigned.items():
            if topic in taken:
                taken[topic] |= partitions
    return [(topic, partition) for topic in sorted(topics) for partition in _missing(taken[topic], topics[topic])]


def _missing(taken: set[int], count: int) -> Iterator[int]:
    return (partition for partition in range(count) if partition not in taken)


def _keep(assigned: Assignment, topics: dict[uuid, int], quota: int) -> tuple[Assignment, list[_TopicPartition]]:
    """What a member keeps of what it has, and what others can have of it."""
    kept = assigned
    if not assigned.keys() <= topics.keys():
        kept = {topic: partitions for topic, partitions in assigned.items() if topic in topics}
    if sum(map(len, kept.values())) <= quota:
        return kept, []
    in_order = [(topic, partition) for topic in sorted(kept) for partition in sorted(kept[topic])]
    return _with({}, in_order[:quota]), in_order[quota:]


def _with(assigned: Assignment, more: Iterable[_TopicPartition]) -> Assignment:
    gained: dict[uuid, list[int]] = {}
    for topic, partition in more:
        gained.setdefault(topic, []).append(partition)
    return {**assigned, **{topic: assigned.get(topic, frozenset()).union(new) for topic, new in gained.items()}}
