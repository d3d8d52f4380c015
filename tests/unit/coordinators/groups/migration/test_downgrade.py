"""The last member of the consumer protocol goes, and those who are left are a classic group."""

import pytest

from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.group import GroupKind
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.records.classic_group import GroupMetadataValue
from support.consumer_stage import GROUP, SESSION_MS, Consumer
from support.migration_stage import ClassicConsumer, MigrationStage


def staged(policy: str = "bidirectional", size_max: int = 100) -> MigrationStage:
    stage = MigrationStage(
        BrokerConfig(
            group_consumer_assignment_interval_ms=0,
            group_initial_rebalance_delay_ms=0,
            group_consumer_migration_policy=policy,
            group_max_size=size_max,
        )
    )
    stage.create("orders", 6)
    return stage


@pytest.fixture
def stage() -> MigrationStage:
    return staged()


def test_the_last_one_leaves_and_the_others_rebalance(stage: MigrationStage) -> None:
    one, two, three = ClassicConsumer(stage), ClassicConsumer(stage), Consumer(stage)
    stage.run(three, one, two)
    epoch, before = stage.group.epoch, (one.has, two.has)
    three.leave()
    stage.advance(0)
    group = stage.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert (group.generation, group.state_name) == (epoch, "PreparingRebalance")
    stage.run(one, two)
    assert (len(one.has), len(two.has)) == (3, 3)
    assert one.has > before[0]
    assert two.has > before[1]
    assert ErrorCode.ILLEGAL_GENERATION not in one.errors + two.errors, "they stay members all the time"
    assert one.generation == two.generation == epoch + 1


def test_it_is_silent_for_too_long(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), Consumer(stage)
    stage.run(two, one)
    for _ in range(SESSION_MS // 5_000):
        stage.advance(5_000)
        one.step()
    stage.run(one)
    assert (stage.kind, len(one.has)) == (GroupKind.CLASSIC, 6)


def test_it_comes_back_after_that_and_the_group_moves_again(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), Consumer(stage)
    stage.run(two, one)
    for _ in range(SESSION_MS // 5_000):
        stage.advance(5_000)
        one.step()
    assert stage.kind is GroupKind.CLASSIC
    two.beat()
    assert two.error is ErrorCode.UNKNOWN_MEMBER_ID, "which clients answer by joining anew"
    stage.run(two, one)
    assert (stage.kind, len(one.has), len(two.has)) == (GroupKind.CONSUMER, 3, 3)


def test_where_the_group_may_not_move_back_there_is_no_group_for_it() -> None:
    stage = staged("downgrade")
    one, two = Consumer(stage), ClassicConsumer(stage)
    stage.run(one, two)
    epoch = one.epoch
    one.leave()
    one.epoch = epoch
    one.beat()
    assert one.error is ErrorCode.GROUP_ID_NOT_FOUND


def test_the_record_has_what_members_should_have(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage, subscription_version=1), Consumer(stage)
    stage.run(two, one)
    two.leave()
    _, value = stage.read_log()[-1]
    assert isinstance(value, GroupMetadataValue)
    (member,) = value.members
    numbers = sorted(number for _, number in one.has)
    topic = b"\0\6orders" + len(numbers).to_bytes(4, "big") + b"".join(number.to_bytes(4, "big") for number in numbers)
    assert member.assignment == b"\0\1\0\0\0\1" + topic + b"\xff\xff\xff\xff", "in the version that the member speaks"
    assert (value.protocol_type, value.protocol, value.leader) == ("consumer", "cooperative-sticky", None)


def test_a_member_that_leaves_where_others_stay_moves_nothing(stage: MigrationStage) -> None:
    one, two, three = ClassicConsumer(stage), Consumer(stage), Consumer(stage)
    stage.run(two, three, one)
    three.leave()
    assert stage.kind is GroupKind.CONSUMER
    stage.run(two, one)
    assert (len(one.has), len(two.has)) == (3, 3)


def test_a_group_without_anyone_is_no_classic_group(stage: MigrationStage) -> None:
    one = Consumer(stage)
    stage.run(one)
    one.leave()
    assert (stage.kind, stage.group.state_name) == (GroupKind.CONSUMER, "Empty")


@pytest.mark.parametrize(("policy", "size_max"), [("disabled", 100), ("upgrade", 100), ("bidirectional", 1)])
def test_a_group_that_may_not_move_goes_on_with_classic_members(policy: str, size_max: int) -> None:
    stage = staged(policy, size_max)
    one, two, three = ClassicConsumer(stage), ClassicConsumer(stage), Consumer(stage)
    stage.run(three, one, two)
    three.leave()
    stage.run(one, two)
    assert (stage.kind, len(one.has), len(two.has)) == (GroupKind.CONSUMER, 3, 3)


def test_a_full_disk_moves_nothing_and_silence_is_noticed_again(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), Consumer(stage)
    stage.run(two, one)
    stage.is_full = True
    leaving = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=two.member_id, member_epoch=-1)
    assert stage.ask(leaving) is None
    stage.advance(1)
    assert stage.kind is GroupKind.CONSUMER
    stage.is_full = False
    for _ in range(SESSION_MS // 5_000 + 1):
        stage.advance(5_000)
        one.step()
    stage.run(one)
    assert (stage.kind, len(one.has)) == (GroupKind.CLASSIC, 6)


def test_the_move_outlives_a_restart(stage: MigrationStage) -> None:
    one, two, three = ClassicConsumer(stage), ClassicConsumer(stage), Consumer(stage)
    stage.run(three, one, two)
    three.leave()
    stage = one.stage = two.stage = stage.restarted()
    assert (stage.kind, stage.groups[GROUP].state_name) == (GroupKind.CLASSIC, "PreparingRebalance")
    stage.run(one, two)
    assert (len(one.has), len(two.has)) == (3, 3)
    stage = one.stage = two.stage = stage.restarted()
    assert stage.groups[GROUP].state_name == "Stable", "after that there is nothing to make up for"


def test_the_group_moves_back_before_anybody_gave_anything_up(stage: MigrationStage) -> None:
    """What members have is theirs until they say otherwise, however often the group moves."""
    one, two = ClassicConsumer(stage), ClassicConsumer(stage)
    stage.run(one, two)
    three = Consumer(stage)
    three.beat()
    three.leave()
    four = Consumer(stage)
    four.beat()
    assert (stage.kind, len(one.has | two.has), len(four.has)) == (GroupKind.CONSUMER, 6, 0)
    stage.run(four, one, two)
    assert [len(each.has) for each in (one, two, four)] == [2, 2, 2]


# --- static members


def test_a_static_member_comes_back_with_the_classic_protocol_and_nobody_rebalances(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage), Consumer(stage, instance_id="i")
    stage.run(two, one)
    before = one.has, two.has
    two.leave(-2)
    three = ClassicConsumer(stage, instance_id="i")
    stage.run(three, one)
    assert stage.kind is GroupKind.CLASSIC
    assert (one.has, three.has) == before
    assert one.errors[-1:] != [ErrorCode.ILLEGAL_GENERATION]


def test_it_need_not_have_left(stage: MigrationStage) -> None:
    """Whoever has the instance id is the member, also where the one before it is still there: it is fenced."""
    one, two = ClassicConsumer(stage), Consumer(stage, instance_id="i")
    stage.run(two, one)
    three = ClassicConsumer(stage, instance_id="i")
    stage.run(three, one)
    assert (stage.kind, len(three.has)) == (GroupKind.CLASSIC, 3)
    two.beat()
    assert two.error is ErrorCode.FENCED_INSTANCE_ID


def test_one_that_comes_back_with_other_topics_makes_a_rebalance(stage: MigrationStage) -> None:
    stage.create("bills", 2)
    one, two = ClassicConsumer(stage), Consumer(stage, instance_id="i")
    stage.run(two, one)
    two.leave(-2)
    three = ClassicConsumer(stage, ("orders", "bills"), instance_id="i")
    stage.run(three, one)
    assert stage.kind is GroupKind.CLASSIC
    assert len(one.has | three.has) == 8


def test_one_that_comes_back_while_others_have_yet_to_give_back_makes_a_rebalance(stage: MigrationStage) -> None:
    one = ClassicConsumer(stage)
    stage.run(one)
    two = Consumer(stage, instance_id="i")
    two.beat()
    two.leave(-2)
    three = ClassicConsumer(stage, instance_id="i")
    for _ in range(4):
        three.step()
        stage.advance(1)
        assert three.has.isdisjoint(one.has)
    stage.run(one, three)
    assert (stage.kind, len(one.has), len(three.has)) == (GroupKind.CLASSIC, 3, 3)


def test_one_of_several_that_comes_back_moves_nothing(stage: MigrationStage) -> None:
    one, two, three = ClassicConsumer(stage), Consumer(stage), Consumer(stage, instance_id="i")
    stage.run(two, three, one)
    before = one.has, two.has, three.has
    three.leave(-2)
    four = ClassicConsumer(stage, instance_id="i")
    stage.run(two, four, one)
    assert stage.kind is GroupKind.CONSUMER
    assert (one.has, two.has, four.has) == before


def test_and_back_again(stage: MigrationStage) -> None:
    one, two = ClassicConsumer(stage, instance_id="i"), ClassicConsumer(stage, instance_id="j")
    stage.run(one, two)
    before = one.has, two.has
    three = Consumer(stage, instance_id="i")
    stage.run(three, two)
    assert (stage.kind, (three.has, two.has)) == (GroupKind.CONSUMER, before)
    three.leave(-2)
    stage.run(two, one := ClassicConsumer(stage, instance_id="i"))
    assert (stage.kind, (one.has, two.has)) == (GroupKind.CLASSIC, before)


# --- one by one


@pytest.mark.parametrize("cooperative", [True, False])
def test_members_are_rolled_to_the_consumer_protocol_and_back(stage: MigrationStage, cooperative: bool) -> None:
    members: list[Consumer | ClassicConsumer] = [ClassicConsumer(stage, cooperative=cooperative) for _ in range(3)]
    stage.run(*members)
    for at in range(3):
        members[at].leave()
        members[at] = Consumer(stage)
        stage.run(*members)
        assert (stage.kind, [len(each.has) for each in members]) == (GroupKind.CONSUMER, [2, 2, 2])
    for at in range(3):
        members[at].leave()
        members[at] = ClassicConsumer(stage, cooperative=cooperative)
        stage.run(*members)
        assert [len(each.has) for each in members] == [2, 2, 2]
        assert stage.kind is (GroupKind.CLASSIC if at == 2 else GroupKind.CONSUMER)
