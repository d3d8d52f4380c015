"""Stories of consumer groups, from the first heartbeat to the last."""

from typing import Any

import pytest

from odradek.coordinators.groups.consumer.member import MemberState
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from odradek.wire.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from odradek.wire.stored import write_coordinator_key, write_coordinator_value
from support.consumer_stage import GROUP, HEARTBEAT_MS, REBALANCE_MS, SESSION_MS, Consumer, ConsumerStage


@pytest.fixture
def stage() -> ConsumerStage:
    """With a topic of four partitions."""
    made = ConsumerStage()
    made.create("orders", 4)
    return made


def orders(*partitions: int) -> frozenset[tuple[str, int]]:
    return frozenset(("orders", partition) for partition in partitions)


def test_one_alone_gets_all_with_its_first_answer(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    answer = alone.beat()
    assert answer is not None
    assert (answer.member_id, answer.member_epoch) == (alone.member_id, 2)
    assert answer.heartbeat_interval_ms == HEARTBEAT_MS
    assert alone.has == orders(0, 1, 2, 3)
    assert stage.group.state_name == "Stable"
    kinds = [type(key) for key, _ in stage.read_log()]
    assert kinds == [
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMetadataKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupCurrentMemberAssignmentKey,
    ]


def test_a_heartbeat_that_says_nothing_new_writes_nothing(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    alone.beat()
    alone.beat()
    size = len(stage.log)
    answer = alone.beat()
    assert answer is not None
    assert answer.assignment is None
    assert len(stage.log) == size


def test_a_full_heartbeat_is_told_the_assignment_again(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    alone.beat()
    alone.subscribe("orders")
    answer = alone.beat()
    assert answer is not None
    assert answer.assignment is not None
    assert [topic.partitions for topic in answer.assignment.topic_partitions] == [(0, 1, 2, 3)]


def test_the_second_gets_nothing_before_the_first_gave_it_back(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    first.beat()
    first.beat()
    second.beat()
    assert second.has == orders()
    assert stage.group.members[second.member_id].state is MemberState.UNRELEASED_PARTITIONS
    first.keeps = True
    first.beat()
    assert stage.group.members[first.member_id].state is MemberState.UNREVOKED_PARTITIONS
    assert stage.group.state_name == "Reconciling"
    second.beat()
    assert second.has == orders()
    first.keeps = False
    first.beat()
    assert len(first.has) == 2
    second.beat()
    assert first.has | second.has == orders(0, 1, 2, 3)
    assert not first.has & second.has
    assert stage.group.state_name == "Stable"
    assert first.epoch == second.epoch == stage.group.epoch == 3


def test_what_a_crashed_member_had_goes_to_the_others_after_its_session(stage: ConsumerStage) -> None:
    crashed, other = Consumer(stage), Consumer(stage)
    stage.settle(crashed, other)
    for _ in range(SESSION_MS // HEARTBEAT_MS - 1):
        stage.advance(HEARTBEAT_MS)
        other.beat()
    assert len(other.has) == 2
    stage.advance(HEARTBEAT_MS)
    other.beat()
    assert other.has == orders(0, 1, 2, 3)
    assert crashed.beat() is not None
    assert crashed.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_one_that_does_not_give_back_in_time_is_out(stage: ConsumerStage) -> None:
    slow, other = Consumer(stage), Consumer(stage)
    slow.beat()
    slow.beat()
    other.beat()
    slow.keeps = True
    for _ in range(REBALANCE_MS // HEARTBEAT_MS - 1):
        slow.beat()
        stage.advance(HEARTBEAT_MS)
        other.beat()
        assert not other.has
    slow.beat()
    stage.advance(HEARTBEAT_MS)
    assert slow.member_id not in stage.group.members
    other.beat()
    assert other.has == orders(0, 1, 2, 3)


def test_leaving_makes_room_at_once(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    stage.settle(first, second)
    answer = first.leave()
    assert (answer.error_code, answer.member_epoch) == (0, -1)
    second.beat()
    assert second.has == orders(0, 1, 2, 3)
    second.leave()
    assert stage.group.state_name == "Empty"
    stage.advance(1_000)
    assert not stage.timers


def test_an_answer_that_was_lost_is_made_good(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    alone.beat(lost=True)
    alone.beat()
    assert alone.has == orders(0, 1, 2, 3)
    stage.add_partitions("orders", 6)
    alone.beat(lost=True)
    assert alone.epoch == stage.group.epoch - 1
    alone.beat()
    assert alone.error is ErrorCode.NONE
    assert alone.epoch == stage.group.epoch
    assert alone.has == orders(*range(6))


def test_the_epoch_before_is_fenced_with_partitions_that_are_not_its_own(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    stage.settle(first, second)
    second.leave()
    before = first.epoch
    first.beat()
    topic_id = stage.image.topics.names["orders"].id
    owned = (TopicPartitions(topic_id=topic_id, partitions=(0, 1, 2, 3, 4)),)
    asked = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id=first.member_id, member_epoch=before, topic_partitions=owned
    )
    answer = stage.ask(asked)
    assert answer is not None
    assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize("epoch", [1, 3])
def test_other_epochs_are_fenced(stage: ConsumerStage, epoch: int) -> None:
    alone = Consumer(stage)
    alone.beat()
    alone.epoch = epoch
    alone.beat()
    assert alone.error is ErrorCode.FENCED_MEMBER_EPOCH
    alone.beat()
    assert alone.has == orders(0, 1, 2, 3)


def test_partitions_that_are_added_are_assigned(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    stage.settle(first, second)
    stage.add_partitions("orders", 10)
    stage.settle(first, second)
    assert len(first.has) == len(second.has) == 5


def test_a_topic_that_is_deleted_and_made_anew_is_another_one(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    stage.settle(alone)
    epoch = alone.epoch
    stage.delete("orders")
    stage.settle(alone)
    assert alone.has == frozenset()
    assert alone.epoch == epoch + 1
    stage.create("orders", 2)
    stage.settle(alone)
    assert alone.has == orders(0, 1)


def test_a_topic_that_comes_later_is_assigned_then(stage: ConsumerStage) -> None:
    alone = Consumer(stage, ("later",))
    stage.settle(alone)
    assert not alone.has
    stage.create("later", 1)
    stage.settle(alone)
    assert alone.has == {("later", 0)}


def test_a_topic_that_is_not_wanted_any_more_is_taken(stage: ConsumerStage) -> None:
    stage.create("bills", 2)
    alone = Consumer(stage, ("orders", "bills"))
    stage.settle(alone)
    alone.subscribe("bills")
    stage.settle(alone)
    assert alone.has == {("bills", 0), ("bills", 1)}


def test_a_full_group_takes_nobody_else_but_lets_its_members_stay(stage: ConsumerStage) -> None:
    stage.config = BrokerConfig(group_consumer_max_size=1, group_consumer_assignment_interval_ms=0)
    first, second = Consumer(stage), Consumer(stage)
    first.beat()
    second.beat()
    assert second.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    first.beat()
    assert first.error is ErrorCode.NONE
    assert list(stage.group.members) == [first.member_id]


def test_changes_that_come_close_together_share_an_assignment(stage: ConsumerStage) -> None:
    stage.config = BrokerConfig()
    first, second, third = Consumer(stage), Consumer(stage), Consumer(stage)
    first.beat()
    assert first.has == orders(0, 1, 2, 3)
    second.beat()
    third.beat()
    assert stage.group.epoch == 4
    assert stage.group.target_epoch == 2
    assert stage.group.state_name == "Assigning"
    stage.advance(1_000)
    stage.settle(first, second, third)
    assert stage.group.target_epoch == 4
    assert first.has | second.has | third.has == orders(0, 1, 2, 3)


def test_settings_of_the_group_hold_from_the_next_heartbeat_on(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    alone.beat()
    stage.group_texts = {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "9000"}
    answer = alone.beat()
    assert answer is not None
    assert answer.heartbeat_interval_ms == 9_000
    stage.advance(59_999)
    assert alone.member_id in stage.group.members
    stage.advance(1)
    assert alone.member_id not in stage.group.members


def test_most_members_choose_the_assignor(stage: ConsumerStage) -> None:
    stage.create("bills", 4)
    members = [Consumer(stage, ("orders", "bills"), assignor=name) for name in ("range", "range", "uniform")]
    stage.settle(*members)
    assert stage.consumer.describe(GROUP).assignor_name == "range"
    assert [sorted(partition for _, partition in each.has) for each in members[:2]] == [[0, 0, 1, 1], [2, 2]]


def test_without_a_version_one_the_coordinator_makes_the_id(stage: ConsumerStage) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="",
        member_epoch=0,
        rebalance_timeout_ms=1,
        subscribed_topic_names=("orders",),
        topic_partitions=(),
    )
    answer = stage.ask(request, version=0)
    assert answer is not None
    assert answer.error_code == 0
    assert list(stage.group.members) == [answer.member_id]
    refused = stage.ask(request, version=1)
    assert refused is not None
    assert refused.error_code == ErrorCode.INVALID_REQUEST


JOIN: dict[str, Any] = {
    "group_id": GROUP,
    "member_id": "me",
    "member_epoch": 0,
    "rebalance_timeout_ms": 1,
    "subscribed_topic_names": ("orders",),
    "topic_partitions": (),
}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": (TopicPartitions(topic_id=bytes(16), partitions=(0,)),)}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"subscribed_topic_names": None, "subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        (
            {"subscribed_topic_names": None, "subscribed_topic_regex": "((a{100}){100}){100}"},
            ErrorCode.INVALID_REGULAR_EXPRESSION,
        ),
    ],
)
def test_refused_requests_leave_nothing(stage: ConsumerStage, fields: dict[str, Any], code: ErrorCode) -> None:
    answer = stage.ask(ConsumerGroupHeartbeatRequest(**(JOIN | fields)))
    assert answer is not None
    assert ErrorCode(answer.error_code) is code
    assert answer.error_message
    assert not stage.log
    assert not stage.groups
    assert not stage.timers


def test_texts_of_errors_are_short_whatever_they_quote(stage: ConsumerStage) -> None:
    expression = "(" * 30_000
    answer = stage.ask(ConsumerGroupHeartbeatRequest(**(JOIN | {"subscribed_topic_regex": expression})))
    assert answer is not None
    assert answer.error_message is not None
    assert len(answer.error_message) <= 1000


def test_a_full_disk_leaves_the_group_as_it_was_and_the_next_heartbeat_goes_on(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    stage.settle(alone)
    stage.add_partitions("orders", 6)
    stage.is_full = True
    assert alone.beat() is None
    assert stage.group.epoch == 2
    stage.is_full = False
    stage.settle(alone)
    assert alone.has == orders(*range(6))


def test_a_member_whose_leaving_cannot_be_written_is_taken_out_later(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    stage.settle(first, second)
    stage.is_full = True
    leaving = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=second.member_id, member_epoch=-1)
    assert stage.ask(leaving) is None
    assert second.member_id in stage.group.members
    stage.is_full = False
    stage.advance(1_000)
    assert list(stage.group.members) == [first.member_id]


def test_records_of_older_brokers_are_read_and_deleted(stage: ConsumerStage) -> None:
    key = write_coordinator_key(ConsumerGroupPartitionMetadataKey(group_id=GROUP))
    value = write_coordinator_value(ConsumerGroupPartitionMetadataValue(topics=()), 0)
    epoch_key = write_coordinator_key(ConsumerGroupMetadataKey(group_id=GROUP))
    epoch_value = write_coordinator_value(ConsumerGroupMetadataValue(epoch=7), 0)
    stage.log += [(key, value), (epoch_key, epoch_value)]
    stage = stage.restarted()
    size = len(stage.log)
    alone = Consumer(stage)
    alone.beat()
    assert alone.epoch == 8
    assert (ConsumerGroupPartitionMetadataKey(group_id=GROUP), None) in stage.read_log(size)
    assert not stage.group.has_partition_metadata
    stage.add_partitions("orders", 9)
    size = len(stage.log)
    alone.beat()
    assert (ConsumerGroupPartitionMetadataKey(group_id=GROUP), None) not in stage.read_log(size)


def test_a_restart_forgets_nothing_but_how_long_members_were_silent(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage, expression="bil.*")
    stage.create("bills", 1)
    first.beat()
    second.beat()
    first.keeps = True
    first.beat()
    again = stage.restarted()
    assert again.group.members == stage.group.members
    assert again.group.targets == stage.group.targets
    assert again.group.matched == stage.group.matched
    first.stage = second.stage = again
    again.advance(SESSION_MS - 1)
    assert len(again.group.members) == 2
    first.keeps = False
    again.settle(first, second)
    assert len(first.has | second.has) == 5


def test_what_is_deleted_is_gone_after_a_restart(stage: ConsumerStage) -> None:
    alone = Consumer(stage, expression="ord.*")
    alone.beat()
    alone.leave()
    stage.group.check_delete()
    for stored in tuple(stage.group.tombstones()):
        stage.log.append((write_coordinator_key(stored.key), None))
    assert not stage.restarted().groups


def test_after_a_restart_what_is_to_be_given_back_has_a_deadline_again(stage: ConsumerStage) -> None:
    slow, other = Consumer(stage), Consumer(stage)
    slow.beat()
    slow.beat()
    other.beat()
    slow.keeps = True
    slow.beat()
    again = stage.restarted()
    slow.stage = other.stage = again
    for _ in range(REBALANCE_MS // HEARTBEAT_MS):
        assert slow.member_id in again.group.members
        slow.beat()
        other.beat()
        again.advance(HEARTBEAT_MS)
    assert list(again.group.members) == [other.member_id]


def test_targets_that_stay_are_not_written_again(stage: ConsumerStage) -> None:
    stage.create("bills", 1)
    first, second = Consumer(stage), Consumer(stage, ("bills",))
    stage.settle(first, second)
    stage.add_partitions("bills", 2)
    size = len(stage.log)
    stage.settle(first, second)
    written = [key for key, _ in stage.read_log(size) if isinstance(key, ConsumerGroupTargetAssignmentMemberKey)]
    assert [key.member_id for key in written] == [second.member_id]


def test_a_member_in_a_state_of_a_later_version_joins_anew(stage: ConsumerStage) -> None:
    alone = Consumer(stage)
    stage.settle(alone)
    member = stage.group.members[alone.member_id]
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=alone.member_id)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=55,
        assigned_partitions=(),
        partitions_pending_revocation=(),
    )
    stage.log.append((write_coordinator_key(key), write_coordinator_value(value, 0)))
    again = alone.stage = stage.restarted()
    assert again.group.members[alone.member_id].state is MemberState.UNKNOWN
    alone.beat()
    assert alone.error is ErrorCode.FENCED_MEMBER_EPOCH
    alone.beat()
    assert alone.has == orders(0, 1, 2, 3)
    assert again.group.state_name == "Stable"
