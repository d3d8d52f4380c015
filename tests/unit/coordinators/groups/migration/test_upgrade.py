"""A member of the consumer protocol joins a classic group."""

import pytest

from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.group import GroupKind, Member
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from support.consumer_stage import GROUP, Consumer
from support.migration_stage import ClassicConsumer, MigrationStage


@pytest.fixture
def stage() -> MigrationStage:
    stage = MigrationStage()
    stage.create("orders", 6)
    return stage


def with_policy(policy: str) -> MigrationStage:
    stage = MigrationStage(
        BrokerConfig(
            group_consumer_assignment_interval_ms=0,
            group_initial_rebalance_delay_ms=0,
            group_consumer_migration_policy=policy,
        )
    )
    stage.create("orders", 6)
    return stage


def enter(member: ClassicConsumer) -> None:
    """It asks for an id, gets it, and asks to join."""
    for _ in range(3):
        member.step()


def names(stage: MigrationStage, since: int) -> list[str]:
    return [
        type(key).__name__.removesuffix("Key").removeprefix("ConsumerGroup") + ("" if value else " gone")
        for key, value in stage.read_log(since)
    ]


def test_two_cooperative_members_share_with_one_of_the_consumer_protocol(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), ClassicConsumer(stage)
    stage.run(one, two)
    assert (stage.kind, len(one.has), len(two.has)) == (GroupKind.CLASSIC, 3, 3)
    before = one.has, two.has
    three = Consumer(stage)
    three.beat()
    assert stage.kind is GroupKind.CONSUMER
    stage.run(one, two, three)
    assert [len(each.has) for each in (one, two, three)] == [2, 2, 2]
    assert one.has < before[0]
    assert two.has < before[1]
    assert one.errors[-1] is ErrorCode.REBALANCE_IN_PROGRESS


def test_the_move_is_one_batch_in_the_order_of_kafka(stage: MigrationStage) -> None:
    one = ClassicConsumer(stage)
    stage.run(one)
    size = len(stage.log)
    Consumer(stage).beat()
    assert names(stage, size) == [
        "GroupMetadata gone",
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
        *("MemberMetadata", "Metadata"),
        *("TargetAssignmentMember", "TargetAssignmentMember", "TargetAssignmentMetadata"),
        "CurrentMemberAssignment",
    ]


def test_generations_go_on_as_epochs(stage: MigrationStage) -> None:
    one = ClassicConsumer(stage)
    stage.run(one)
    generation = one.generation
    two = Consumer(stage)
    two.beat()
    group = stage.group
    assert group.members[one.member_id].epoch == generation
    assert group.members[two.member_id].epoch == group.epoch == generation + 1
    group.check_commit(Member(one.member_id, generation), 9, transactional=False)
    stage.run(one, two)
    assert one.generation == two.epoch == generation + 1


def test_eager_members_move_too(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage, cooperative=False), ClassicConsumer(stage, cooperative=False)
    stage.run(one, two)
    three = Consumer(stage)
    stage.run(one, two, three)
    assert [len(each.has) for each in (one, two, three)] == [2, 2, 2]


def test_members_that_wait_are_told_to_join_again(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), ClassicConsumer(stage)
    stage.run(one)
    enter(two)  # it waits for the other one to join again
    three = Consumer(stage)
    three.beat()
    two.step()
    assert two.errors == [ErrorCode.REBALANCE_IN_PROGRESS]
    stage.run(one, two, three)
    assert [len(each.has) for each in (one, two, three)] == [2, 2, 2]


def test_what_members_are_about_to_give_back_is_still_theirs(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), ClassicConsumer(stage)
    stage.run(one)
    enter(two)
    one.step()  # hears of the rebalance
    one.step()  # joins
    one.step()  # leads, and assigns half of what it has to the other: it has not heard of that itself
    assert (stage.groups[GROUP].state_name, len(one.has)) == ("Stable", 6)
    three = Consumer(stage)
    three.beat()
    assert (stage.kind, len(three.has)) == (GroupKind.CONSUMER, 0)
    stage.run(three, one, two)
    assert [len(each.has) for each in (one, two, three)] == [2, 2, 2]


def test_a_rebalance_that_is_under_way_is_not_forgotten(stage: MigrationStage) -> None:
    one, two, three = ClassicConsumer(stage, instance_id="i"), ClassicConsumer(stage), ClassicConsumer(stage)
    stage.run(one, two, three)
    three.leave()
    assert stage.groups[GROUP].state_name == "PreparingRebalance"
    four = Consumer(stage, instance_id="i")
    stage.run(four, two)
    assert (len(four.has), len(two.has)) == (3, 3), "who takes a static member's place calls for no target"


def test_a_group_before_its_first_generation_moves_too() -> None:
    stage = MigrationStage(BrokerConfig(group_consumer_assignment_interval_ms=0))
    stage.create("orders", 6)
    one = ClassicConsumer(stage)
    enter(one)
    assert stage.groups[GROUP].state_name == "PreparingRebalance"
    two = Consumer(stage)
    stage.run(two, one)
    assert (stage.kind, len(one.has), len(two.has)) == (GroupKind.CONSUMER, 3, 3)


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_the_policy_keeps_the_group_what_it_is(policy: str) -> None:
    stage = with_policy(policy)
    one = ClassicConsumer(stage)
    stage.run(one)
    size = len(stage.log)
    two = Consumer(stage)
    two.beat()
    assert two.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert (stage.kind, len(stage.log)) == (GroupKind.CLASSIC, size)
    stage.run(one)
    assert len(one.has) == 6


@pytest.mark.parametrize("policy", ["disabled", "downgrade", "upgrade", "Bidirectional"])
def test_an_empty_group_moves_whatever_the_policy(policy: str) -> None:
    stage = with_policy(policy)
    one, two = ClassicConsumer(stage), Consumer(stage)
    stage.run(one)
    one.leave()
    stage.run(two)
    assert (stage.kind, len(two.has)) == (GroupKind.CONSUMER, 6)
    two.leave()
    stage.run(one)
    assert (stage.kind, len(one.has)) == (GroupKind.CLASSIC, 6)


def test_a_group_with_more_members_than_consumer_groups_may_have_stays() -> None:
    stage = MigrationStage(BrokerConfig(group_initial_rebalance_delay_ms=0, group_consumer_max_size=1))
    stage.create("orders", 6)
    one, two = ClassicConsumer(stage), ClassicConsumer(stage)
    stage.run(one, two)
    three = Consumer(stage)
    three.beat()
    assert three.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.kind is GroupKind.CLASSIC


# --- members that cannot be taken over


def formed(
    stage: MigrationStage, metadata: bytes, assignment: bytes, protocol_type: str = "consumer", protocol: str = "p"
) -> None:
    """A group of one member that says just this."""

    def join(member_id: str) -> str:
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id=member_id,
            protocol_type=protocol_type,
            protocols=(JoinGroupRequestProtocol(name=protocol, metadata=metadata),),
        )
        asked = stage.asked(9)
        stage.perform(stage.members.join(asked, request))
        stage.advance(1)
        return stage.answers[asked.ticket].member_id  # type: ignore[attr-defined,no-any-return]

    member_id = join("")
    join(member_id)
    given = SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
    sync = SyncGroupRequest(
        group_id=GROUP,
        generation_id=1,
        member_id=member_id,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=(given,),
    )
    stage.perform(stage.members.sync(stage.asked(5), sync))


@pytest.mark.parametrize(
    ("metadata", "assignment"),
    [
        pytest.param(b"", b"", id="no subscription"),
        pytest.param(b"\xff\xff\0\0\0\0\0\0\0\0", b"", id="a subscription of version -1"),
        pytest.param(b"\0\0\0\0\0\1\0\x09orders", b"", id="a subscription that ends too early"),
        pytest.param(b"\0\0\0\0\0\0\0\0\0\0", b"\0", id="an assignment that is none"),
        pytest.param(b"\0\0\0\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0\0\1x", id="an assignment with words of its own"),
    ],
)
def test_a_group_whose_members_cannot_be_read_stays(stage: MigrationStage, metadata: bytes, assignment: bytes) -> None:
    formed(stage, metadata, assignment)
    size = len(stage.log)
    two = Consumer(stage)
    two.beat()
    assert two.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert (stage.kind, len(stage.log)) == (GroupKind.CLASSIC, size)


def test_a_group_that_gave_a_partition_to_two_members_stays(stage: MigrationStage) -> None:
    assignment = b"\0\1\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
    one, two = ClassicConsumer(stage), ClassicConsumer(stage)
    for each in (one, two):
        each.assigns = lambda told: dict.fromkeys(told, assignment)
    stage.run(one, two)
    assert one.has == two.has == {("orders", 0)}
    three = Consumer(stage)
    three.beat()
    assert three.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.kind is GroupKind.CLASSIC


def test_what_librdkafka_sends_back_with_an_assignment_keeps_no_group(stage: MigrationStage) -> None:
    formed(stage, b"\0\0\0\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0\0\1x", protocol="cooperative-sticky")
    Consumer(stage).beat()
    assert stage.kind is GroupKind.CONSUMER


def test_what_follows_a_subscription_of_a_later_version_is_overlooked(stage: MigrationStage) -> None:
    formed(stage, b"\0\x09\0\0\0\1\0\6orders\xff\xff\xff\xff\0\0\0\0\0\0\0\1\xff\xffmore", b"")
    Consumer(stage).beat()
    assert stage.kind is GroupKind.CONSUMER


def test_a_group_that_is_not_of_consumers_stays(stage: MigrationStage) -> None:
    formed(stage, b"", b"", protocol_type="connect")
    two = Consumer(stage)
    two.beat()
    assert two.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.groups[GROUP].protocol_type == "connect"


def test_a_member_that_is_refused_moves_nothing(stage: MigrationStage) -> None:
    one = ClassicConsumer(stage)
    stage.run(one)
    two = Consumer(stage, None, expression="(")
    two.beat()
    assert two.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert stage.kind is GroupKind.CLASSIC
    stage.run(one)


def test_a_full_disk_moves_nothing(stage: MigrationStage) -> None:
    one = ClassicConsumer(stage)
    stage.run(one)
    stage.is_full = True
    two = Consumer(stage)
    two.beat()
    assert stage.kind is GroupKind.CLASSIC
    stage.is_full = False
    one.step()
    assert one.is_in
    stage.run(one, two)
    assert (len(one.has), len(two.has)) == (3, 3)


def test_the_move_outlives_a_restart(stage: MigrationStage) -> None:
    one = ClassicConsumer(stage)
    stage.run(one)
    two = Consumer(stage)
    two.beat()
    stage = one.stage = two.stage = stage.restarted()
    assert isinstance(stage.groups[GROUP], ConsumerGroup)
    stage.run(one, two)
    assert (len(one.has), len(two.has)) == (3, 3)
