"""The range assignor: each topic is cut into as many runs of partitions as it has subscribers, in the order of members.

Topics with the same partitions and subscribers are cut alike, so that a member has the same partitions of all of them
and can join them. The order is that of instance ids, then of the ids of the members that have none: where nobody comes
or goes nothing moves, and a static member gets the same after it restarted under another id.
"""

from typing import TYPE_CHECKING

from odradek.coordinators.groups.consumer.assignors.spec import Assignment, GroupAssignment, GroupSpec, MemberSpec

if TYPE_CHECKING:
    from odradek.wire.schema import uuid


def assign_ranges(spec: GroupSpec) -> GroupAssignment:
    member_ids = sorted(spec.members, key=lambda member_id: _rank(member_id, spec.members[member_id]))
    subscribers: dict[uuid, int] = {}
    for member in spec.members.values():
        for topic in member.subscribed:
            subscribers[topic] = subscribers.get(topic, 0) + 1
    turns = dict.fromkeys(subscribers, 0)
    targets: dict[str, Assignment] = {}
    for member_id in member_ids:
        member = spec.members[member_id]
        target: dict[uuid, frozenset[int]] = {}
        for topic in member.subscribed:
            if partitions := _run(spec.partitions[topic], subscribers[topic], turns[topic]):
                target[topic] = frozenset(partitions)
            turns[topic] += 1
        targets[member_id] = member.assigned if target == member.assigned else target
    return targets


def _rank(member_id: str, member: MemberSpec) -> tuple[bool, bytes]:
    name = member_id if member.instance_id is None else member.instance_id
    # Java compares units of UTF-16.
    return member.instance_id is None, name.encode("utf-16-be", "surrogatepass")


def _run(count: int, subscribers: int, turn: int) -> range:
    """What the member gets whose turn it is, counted from 0. Where it does not divide, the first ones get one more."""
    each, extra = divmod(count, subscribers)
    start = turn * each + min(turn, extra)
    return range(start, start + each + (turn < extra))
