"""What leaders of classic groups assign: range, roundrobin, and cooperative-sticky in a simple form.

They are given members by id, and give partitions by member id. All orders are fixed, so that a run can be repeated.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from odradek.metadata.image import Image
from odradek.model.topic_partition import TopicPartition
from support.sim.admin import partitions_of


class Subscribed(NamedTuple):
    """A member as its subscription tells."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    """That `owned` was assigned in."""


Assigned = dict[str, list[TopicPartition]]
Assignor = Callable[[Mapping[str, Subscribed], Image], Assigned]


def range_assignor(members: Mapping[str, Subscribed], image: Image) -> Assigned:
    assigned: Assigned = {member_id: [] for member_id in sorted(members)}
    for topic in _topics(members):
        takers = [member_id for member_id in assigned if topic in members[member_id].topics]
        partitions = sorted(partitions_of(image, [topic]))
        each, more = divmod(len(partitions), len(takers))
        at = 0
        for number, member_id in enumerate(takers):
            end = at + each + (number < more)
            assigned[member_id] += partitions[at:end]
            at = end
    return assigned


def roundrobin_assignor(members: Mapping[str, Subscribed], image: Image) -> Assigned:
    assigned: Assigned = {member_id: [] for member_id in sorted(members)}
    ring = list(assigned)
    at = 0
    for partition in sorted(partitions_of(image, _topics(members))):
        while partition.topic not in members[ring[at % len(ring)]].topics:
            at += 1
        assigned[ring[at % len(ring)]].append(partition)
        at += 1
    return assigned


def cooperative_assignor(members: Mapping[str, Subscribed], image: Image) -> Assigned:
    """Keeps what members own, up to a fair share. What has to move goes to nobody now, and to its taker in the next
    generation, when its owner has given it back."""
    owners = _owners(members)
    assigned: Assigned = {member_id: [] for member_id in sorted(members)}
    partitions = sorted(partitions_of(image, _topics(members)))
    most = -(-len(partitions) // len(members))
    homeless = []
    for partition in partitions:
        owner = owners.get(partition)
        if owner is not None and partition.topic in members[owner].topics and len(assigned[owner]) < most:
            assigned[owner].append(partition)
        else:
            homeless.append(partition)
    for partition in homeless:
        takers = [member_id for member_id in assigned if partition.topic in members[member_id].topics]
        taker = min(takers, key=lambda member_id: (len(assigned[member_id]), member_id))
        assigned[taker].append(partition)
    for member_id, given in assigned.items():
        assigned[member_id] = [each for each in given if owners.get(each, member_id) == member_id]
    return assigned


def _owners(members: Mapping[str, Subscribed]) -> dict[TopicPartition, str]:
    """Who owns what, as far as members say so in the newest generation that any of them tells: others were fenced."""
    newest = max(member.generation for member in members.values())
    return {
        partition: member_id
        for member_id, member in sorted(members.items())
        if member.generation == newest
        for partition in member.owned
    }


def _topics(members: Mapping[str, Subscribed]) -> list[str]:
    return sorted({topic for member in members.values() for topic in member.topics})
