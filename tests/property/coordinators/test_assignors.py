"""Whatever becomes of a group: each partition once, to one who wants it, evenly, and with no move that is not due."""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinators.groups.consumer.assignors import ASSIGNORS
from odradek.coordinators.groups.consumer.assignors.spec import GroupAssignment, GroupSpec, MemberSpec

TOPICS = [bytes([number]) * 16 for number in (1, 2, 200, 255)]

COUNTS = st.fixed_dictionaries({topic: st.integers(1, 12) for topic in TOPICS})
SUBSCRIPTIONS = st.frozensets(st.sampled_from(TOPICS))
MEMBER_IDS = st.text("abcdef", min_size=1, max_size=3)

uniform, ranges = ASSIGNORS["uniform"], ASSIGNORS["range"]


@st.composite
def groups(draw: st.DrawFn, *, homogeneous: bool) -> GroupSpec:
    """A group as it was once, given to an assignor, and then changed."""
    counts = draw(COUNTS)
    subscriptions = st.just(draw(SUBSCRIPTIONS)) if homogeneous else SUBSCRIPTIONS
    before = draw(st.dictionaries(MEMBER_IDS, subscriptions, min_size=1, max_size=8))
    assignor = draw(st.sampled_from([uniform, ranges]))
    targets = assignor(GroupSpec({name: MemberSpec(topics) for name, topics in before.items()}, counts))
    stay = draw(st.sets(st.sampled_from(sorted(before))))
    subscriptions = st.just(draw(SUBSCRIPTIONS)) if homogeneous else SUBSCRIPTIONS
    now = {name: MemberSpec(draw(subscriptions), targets[name]) for name in sorted(stay)}
    for name in draw(st.sets(MEMBER_IDS, min_size=1, max_size=8)):
        now.setdefault(name, MemberSpec(draw(subscriptions)))
    return GroupSpec(now, {topic: count + draw(st.integers(0, 5)) for topic, count in counts.items()})


ALL_GROUPS = groups(homogeneous=True) | groups(homogeneous=False)


def partitions_of(targets: GroupAssignment) -> Iterator[tuple[bytes, int]]:
    return (
        (topic, partition) for target in targets.values() for topic, numbers in target.items() for partition in numbers
    )


def sizes_of(targets: GroupAssignment) -> list[int]:
    return [sum(map(len, target.values())) for target in targets.values()]


def with_targets(spec: GroupSpec, targets: GroupAssignment) -> GroupSpec:
    return spec._replace(
        members={name: member._replace(assigned=targets[name]) for name, member in spec.members.items()}
    )


@pytest.mark.parametrize("name", ASSIGNORS)
@given(spec=ALL_GROUPS)
def test_each_partition_goes_once_and_to_a_subscriber(name: str, spec: GroupSpec) -> None:
    targets = ASSIGNORS[name](spec)
    wanted = {topic for member in spec.members.values() for topic in member.subscribed}
    all_partitions = [(topic, partition) for topic in wanted for partition in range(spec.partitions[topic])]
    assert Counter(partitions_of(targets)) == Counter(all_partitions)
    assert targets.keys() == spec.members.keys()
    for member_id, target in targets.items():
        assert target.keys() <= spec.members[member_id].subscribed
        assert all(target.values()), "topics without partitions are left out"


@pytest.mark.parametrize("name", ASSIGNORS)
@given(spec=ALL_GROUPS)
def test_nothing_moves_when_nothing_changed(name: str, spec: GroupSpec) -> None:
    settled = with_targets(spec, ASSIGNORS[name](spec))
    again = ASSIGNORS[name](settled)
    assert all(again[member_id] is member.assigned for member_id, member in settled.members.items())


@pytest.mark.parametrize("name", ASSIGNORS)
@given(spec=ALL_GROUPS)
def test_the_order_of_members_does_not_matter(name: str, spec: GroupSpec) -> None:
    turned = spec._replace(members=dict(reversed(list(spec.members.items()))))
    assert ASSIGNORS[name](turned) == ASSIGNORS[name](spec)


@given(spec=groups(homogeneous=True))
def test_uniform_is_even_within_one(spec: GroupSpec) -> None:
    sizes = sizes_of(uniform(spec))
    assert max(sizes) - min(sizes) <= 1


@given(spec=groups(homogeneous=True))
def test_uniform_moves_no_more_than_it_must(spec: GroupSpec) -> None:
    """Of all even assignments it gives one that keeps the most: the most that the sizes of the members allow."""
    targets = uniform(spec)
    had = [
        sum(len(numbers) for topic, numbers in member.assigned.items() if topic in member.subscribed)
        for member in spec.members.values()
    ]
    kept = sum(
        len(numbers & spec.members[member_id].assigned.get(topic, frozenset()))
        for member_id, target in targets.items()
        for topic, numbers in target.items()
    )
    total = sum(sizes_of(targets))
    least, extra = divmod(total, len(had))
    assert kept == sum(min(size, least) for size in had) + min(extra, sum(size > least for size in had))


@given(spec=groups(homogeneous=False))
def test_uniform_leaves_no_topic_where_a_move_would_even_out_more(spec: GroupSpec) -> None:
    targets = uniform(spec)
    sizes = {name: sum(map(len, target.values())) for name, target in targets.items()}
    for topic in TOPICS:
        takers = [sizes[name] for name, member in spec.members.items() if topic in member.subscribed]
        givers = [sizes[name] for name in targets if targets[name].get(topic)]
        if givers:
            assert max(givers) - min(takers) <= 1


@given(spec=groups(homogeneous=True))
def test_range_cuts_topics_of_one_size_alike(spec: GroupSpec) -> None:
    spec = spec._replace(partitions=dict.fromkeys(TOPICS, 7))
    for target in ranges(spec).values():
        assert len(set(target.values())) <= 1


@given(spec=ALL_GROUPS, data=st.data())
def test_range_gives_a_static_member_the_same_under_another_id(spec: GroupSpec, data: st.DataObject) -> None:
    spec = spec._replace(
        members={name: member._replace(instance_id=f"i{at}") for at, (name, member) in enumerate(spec.members.items())}
    )
    restarted = data.draw(st.sampled_from(sorted(spec.members)))
    after = {("new" if name == restarted else name): member for name, member in spec.members.items()}
    before, targets = ranges(spec), ranges(spec._replace(members=after))
    assert targets == {("new" if name == restarted else name): target for name, target in before.items()}
