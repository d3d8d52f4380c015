"""Assignments that can be checked by eye, and large groups."""

import pytest

from odradek.coordinators.groups.consumer.assignors import ASSIGNORS, assignors_of
from odradek.coordinators.groups.consumer.assignors.spec import GroupAssignment, GroupSpec, MemberSpec

ORDERS, BILLS, LOGS = b"o" * 16, b"p" * 16, b"q" * 16
uniform, ranges = ASSIGNORS["uniform"], ASSIGNORS["range"]


def shown(targets: GroupAssignment) -> dict[str, dict[bytes, list[int]]]:
    return {
        name: {topic: sorted(numbers) for topic, numbers in target.items()}
        for name, target in targets.items()
        if target
    }


def continued(spec: GroupSpec, targets: GroupAssignment, **changes: MemberSpec | None) -> GroupSpec:
    """The group with its targets, and with members that came, changed, or went."""
    members = {name: member._replace(assigned=targets[name]) for name, member in spec.members.items()}
    for name, member in changes.items():
        if member is None:
            del members[name]
        else:
            members[name] = member
    return spec._replace(members=members)


def test_one_member_gets_all() -> None:
    spec = GroupSpec({"a": MemberSpec(frozenset({ORDERS}))}, {ORDERS: 3})
    assert shown(uniform(spec)) == shown(ranges(spec)) == {"a": {ORDERS: [0, 1, 2]}}


def test_no_members_and_no_topics_give_nothing() -> None:
    assert uniform(GroupSpec({}, {})) == ranges(GroupSpec({}, {})) == {}
    idle = GroupSpec({"a": MemberSpec(frozenset()), "b": MemberSpec(frozenset())}, {})
    assert uniform(idle) == ranges(idle) == {"a": {}, "b": {}}


def test_uniform_gives_a_newcomer_what_others_have_too_much() -> None:
    wanted = frozenset({ORDERS, BILLS})
    spec = GroupSpec({"a": MemberSpec(wanted), "b": MemberSpec(wanted)}, {ORDERS: 3, BILLS: 3})
    targets = uniform(spec)
    assert shown(targets) == {"a": {ORDERS: [0, 1, 2]}, "b": {BILLS: [0, 1, 2]}}
    after = uniform(continued(spec, targets, c=MemberSpec(wanted)))
    assert shown(after) == {"a": {ORDERS: [0, 1]}, "b": {BILLS: [0, 1]}, "c": {ORDERS: [2], BILLS: [2]}}


def test_uniform_gives_what_one_left_to_those_who_stay() -> None:
    wanted = frozenset({ORDERS})
    spec = GroupSpec({name: MemberSpec(wanted) for name in "abc"}, {ORDERS: 6})
    targets = uniform(spec)
    after = uniform(continued(spec, targets, b=None))
    assert shown(targets) == {"a": {ORDERS: [0, 1]}, "b": {ORDERS: [2, 3]}, "c": {ORDERS: [4, 5]}}
    assert shown(after) == {"a": {ORDERS: [0, 1, 2]}, "c": {ORDERS: [3, 4, 5]}}


def test_uniform_evens_out_over_different_subscriptions() -> None:
    spec = GroupSpec(
        {"a": MemberSpec(frozenset({ORDERS})), "b": MemberSpec(frozenset({ORDERS, BILLS}))}, {ORDERS: 4, BILLS: 2}
    )
    assert shown(uniform(spec)) == {"a": {ORDERS: [0, 1, 2]}, "b": {ORDERS: [3], BILLS: [0, 1]}}


def test_range_gives_the_same_partitions_of_each_topic() -> None:
    wanted = frozenset({ORDERS, BILLS})
    spec = GroupSpec({"a": MemberSpec(wanted), "b": MemberSpec(wanted)}, {ORDERS: 3, BILLS: 3})
    assert shown(ranges(spec)) == {"a": {ORDERS: [0, 1], BILLS: [0, 1]}, "b": {ORDERS: [2], BILLS: [2]}}


def test_range_cuts_each_topic_for_those_who_want_it() -> None:
    spec = GroupSpec(
        {
            "a": MemberSpec(frozenset({ORDERS})),
            "b": MemberSpec(frozenset({ORDERS, LOGS})),
            "c": MemberSpec(frozenset({LOGS})),
        },
        {ORDERS: 2, LOGS: 3},
    )
    assert shown(ranges(spec)) == {"a": {ORDERS: [0]}, "b": {ORDERS: [1], LOGS: [0, 1]}, "c": {LOGS: [2]}}


def test_range_puts_static_members_first() -> None:
    wanted = frozenset({ORDERS})
    spec = GroupSpec(
        {"a": MemberSpec(wanted), "y": MemberSpec(wanted, instance_id="2"), "z": MemberSpec(wanted, instance_id="1")},
        {ORDERS: 3},
    )
    assert shown(ranges(spec)) == {"z": {ORDERS: [0]}, "y": {ORDERS: [1]}, "a": {ORDERS: [2]}}


def test_a_topic_that_is_gone_is_dropped() -> None:
    spec = GroupSpec(
        {"a": MemberSpec(frozenset({ORDERS}), {ORDERS: frozenset({0}), LOGS: frozenset({0})})}, {ORDERS: 1}
    )
    assert shown(uniform(spec)) == shown(ranges(spec)) == {"a": {ORDERS: [0]}}


def test_settings_name_assignors_or_the_classes_of_kafka() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    assert list(assignors_of(["range", "uniform"])) == ["range", "uniform"]
    assert list(assignors_of([f"{package}.RangeAssignor", f"{package}.UniformAssignor"])) == ["range", "uniform"]


def large(members: int, topics: int, partitions: int, *, homogeneous: bool) -> GroupSpec:
    ids = [number.to_bytes(16, "big") for number in range(topics)]
    everything = frozenset(ids)
    return GroupSpec(
        {
            f"member-{at:04}": MemberSpec(everything if homogeneous else everything - {ids[at % topics]})
            for at in range(members)
        },
        dict.fromkeys(ids, partitions // topics),
    )


@pytest.mark.parametrize("homogeneous", [True, False])
def test_a_thousand_members_share_evenly_and_a_newcomer_moves_little(homogeneous: bool) -> None:
    spec = large(1_000, 20, 10_000, homogeneous=homogeneous)
    before = uniform(spec)
    assert {sum(map(len, target.values())) for target in before.values()} == {10}
    wanted = spec.members["member-0500"].subscribed
    after = uniform(continued(spec, before, **{"member-0500": None, "new": MemberSpec(wanted)}))
    assert [name for name, target in after.items() if target is not before.get(name)] == ["new"]
    assert sum(map(len, after["new"].values())) == 10
