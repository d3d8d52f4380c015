"""Members with an instance id: they keep their partitions over a restart, and nobody has two of them."""

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.consumer_stage import GROUP, SESSION_MS, Consumer, ConsumerStage


@pytest.fixture
def stage() -> ConsumerStage:
    made = ConsumerStage()
    made.create("orders", 4)
    return made


def test_a_restart_within_the_session_moves_nothing(stage: ConsumerStage) -> None:
    one, other = Consumer(stage, instance_id="one"), Consumer(stage, instance_id="other")
    stage.settle(one, other)
    had, epoch = one.has, stage.group.epoch
    answer = one.leave(-2)
    assert answer.member_epoch == -2
    other.beat()
    assert len(other.has) == 2
    again = Consumer(stage, instance_id="one")
    again.beat()
    assert again.has == had
    assert stage.group.epoch == epoch
    assert again.epoch == epoch
    assert set(stage.group.members) == {again.member_id, other.member_id}
    assert stage.group.state_name == "Stable"


def test_one_that_does_not_come_back_loses_its_place(stage: ConsumerStage) -> None:
    one, other = Consumer(stage, instance_id="one"), Consumer(stage)
    stage.settle(one, other)
    one.leave(-2)
    stage.advance(SESSION_MS - 1)
    other.beat()
    assert len(other.has) == 2
    stage.advance(1)
    other.beat()
    assert len(other.has) == 4


def test_a_second_one_is_refused_while_the_first_is_there(stage: ConsumerStage) -> None:
    one, twin = Consumer(stage, instance_id="one"), Consumer(stage, instance_id="one")
    one.beat()
    twin.beat()
    assert twin.error is ErrorCode.UNRELEASED_INSTANCE_ID
    one.beat()
    assert one.error is ErrorCode.NONE


def test_whoever_was_replaced_is_fenced(stage: ConsumerStage) -> None:
    one, again = Consumer(stage, instance_id="one"), Consumer(stage, instance_id="one")
    stage.settle(one)
    epoch = one.epoch
    one.leave(-2)
    again.beat()
    one.epoch = epoch
    one.beat()
    assert one.error is ErrorCode.FENCED_INSTANCE_ID
    assert one.leave().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert list(stage.group.members) == [again.member_id]


def test_leaving_for_good_makes_room(stage: ConsumerStage) -> None:
    one, other = Consumer(stage, instance_id="one"), Consumer(stage)
    stage.settle(one, other)
    assert one.leave().member_epoch == -1
    other.beat()
    assert len(other.has) == 4
    assert not stage.group.instances


@pytest.mark.parametrize("epoch", [-2, -1, 1])
def test_an_instance_that_is_not_there_is_an_unknown_member(stage: ConsumerStage, epoch: int) -> None:
    Consumer(stage).beat()
    request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="me", member_epoch=epoch, instance_id="nobody")
    answer = stage.ask(request)
    assert answer is not None
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_one_that_comes_back_wanting_other_topics_gets_these(stage: ConsumerStage) -> None:
    stage.create("bills", 1)
    one, other = Consumer(stage, instance_id="one"), Consumer(stage)
    stage.settle(one, other)
    one.leave(-2)
    again = Consumer(stage, ("bills",), instance_id="one")
    stage.settle(again, other)
    assert again.has == {("bills", 0)}
    assert len(other.has) == 4


def test_one_that_left_while_it_had_to_give_back_has_given_back(stage: ConsumerStage) -> None:
    one, other = Consumer(stage, instance_id="one"), Consumer(stage)
    one.beat()
    one.beat()
    other.beat()
    one.keeps = True
    one.beat()
    one.leave(-2)
    other.beat()
    assert len(other.has) == 2
    stage.restarted()
    again = Consumer(stage, instance_id="one")
    stage.settle(again, other)
    assert len(again.has) == 2
    assert not again.has & other.has


def test_a_place_outlives_a_restart_of_the_broker(stage: ConsumerStage) -> None:
    one = Consumer(stage, instance_id="one")
    stage.settle(one)
    one.leave(-2)
    later = stage.restarted()
    again = Consumer(later, instance_id="one")
    again.beat()
    assert len(again.has) == 4
    assert again.epoch == 2
