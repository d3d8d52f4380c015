"""Subscriptions by regular expression."""

import pytest

from odradek.coordinators.groups.consumer.expressions import Expressions
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.records.consumer_group import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from odradek.wire.stored import write_coordinator_key, write_coordinator_value
from support.consumer_stage import GROUP, Consumer, ConsumerStage


@pytest.fixture
def stage() -> ConsumerStage:
    made = ConsumerStage()
    made.create("eu-orders", 2)
    made.create("us-orders", 1)
    made.create("bills", 1)
    return made


def topics(consumer: Consumer) -> set[str]:
    return {topic for topic, _ in consumer.has}


def test_topics_that_match_come_with_the_first_answer(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression=".*-orders")
    reader.beat()
    assert topics(reader) == {"eu-orders", "us-orders"}
    (value,) = [value for key, value in stage.read_log() if isinstance(key, ConsumerGroupRegularExpressionKey)]
    assert isinstance(value, ConsumerGroupRegularExpressionValue)
    assert value.topics == ("eu-orders", "us-orders")
    assert value.version == stage.image.offset
    assert value.timestamp == stage.clock.now_ms()


def test_a_new_topic_that_matches_is_found_with_the_next_heartbeat(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression=".*-orders")
    stage.settle(reader)
    epoch = reader.epoch
    stage.create("jp-orders", 1)
    stage.settle(reader)
    assert topics(reader) == {"eu-orders", "us-orders", "jp-orders"}
    assert reader.epoch == epoch + 1


def test_a_new_topic_that_does_not_match_changes_nothing_for_members(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression=".*-orders")
    stage.settle(reader)
    epoch = reader.epoch
    stage.create("letters", 1)
    reader.beat()
    assert reader.epoch == epoch
    size = len(stage.log)
    reader.beat()
    assert len(stage.log) == size


def test_a_topic_that_goes_is_taken(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression=".*-orders")
    stage.settle(reader)
    stage.delete("us-orders")
    stage.settle(reader)
    assert topics(reader) == {"eu-orders"}
    stage.create("us-orders", 1)
    stage.settle(reader)
    assert topics(reader) == {"eu-orders", "us-orders"}


def test_expressions_match_whole_names(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression="orders|bill")
    reader.beat()
    assert reader.error is ErrorCode.NONE
    assert topics(reader) == set()
    assert stage.group.epoch == 1


def test_names_and_expressions_add_up(stage: ConsumerStage) -> None:
    reader = Consumer(stage, ("bills",), expression="eu.*")
    reader.beat()
    assert topics(reader) == {"bills", "eu-orders"}
    assert stage.group.is_subscribed("eu-orders")
    assert not stage.group.is_subscribed("us-orders")


def test_another_expression_takes_the_place_of_the_first(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression="eu.*")
    stage.settle(reader)
    reader.subscribe(expression="us.*")
    stage.settle(reader)
    assert topics(reader) == {"us-orders"}
    assert list(stage.group.matched) == ["us.*"]


def test_an_expression_is_kept_as_long_as_anybody_has_it(stage: ConsumerStage) -> None:
    one, other = Consumer(stage, None, expression="eu.*"), Consumer(stage, None, expression="eu.*")
    stage.settle(one, other)
    one.leave()
    assert list(stage.group.matched) == ["eu.*"]
    stage.settle(other)
    other.leave()
    assert not stage.group.matched
    assert stage.group.metadata_hash == 0


def test_taking_an_expression_that_others_have_calls_for_a_new_target(stage: ConsumerStage) -> None:
    one, other = Consumer(stage, None, expression="eu.*"), Consumer(stage, None, expression="eu-.*")
    stage.settle(one, other)
    epoch = stage.group.epoch
    other.subscribe(expression="eu.*")
    stage.settle(one, other)
    assert stage.group.epoch == epoch + 1
    assert list(stage.group.matched) == ["eu.*"]


def test_a_bad_expression_is_refused_and_changes_nothing(stage: ConsumerStage) -> None:
    reader = Consumer(stage, None, expression="eu.*")
    stage.settle(reader)
    size = len(stage.log)
    reader.subscribe(expression="*")
    reader.beat()
    assert reader.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(stage.log) == size
    assert stage.group.matched.keys() == {"eu.*"}


@pytest.mark.parametrize("expression", [r"\pL{1000}", "(a{100}){100}", "((a{100}){100}){100}"])
def test_an_expression_that_takes_too_much_memory_is_refused(stage: ConsumerStage, expression: str) -> None:
    reader = Consumer(stage, None, expression=expression)
    reader.beat()
    assert reader.error is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_an_expression_may_ask_for_any_byte(stage: ConsumerStage) -> None:
    stage.create("eu", 1)
    reader = Consumer(stage, None, expression=r"\Cu")
    reader.beat()
    assert stage.group.matched[r"\Cu"].topics == {"eu"}


def test_topics_are_looked_for_again_after_a_while(stage: ConsumerStage) -> None:
    stage.config = BrokerConfig(
        group_consumer_assignment_interval_ms=0,
        group_consumer_regex_refresh_interval_ms=10_000,
        group_consumer_session_timeout_ms=60_000,
    )
    reader = Consumer(stage, None, expression="eu.*")
    stage.settle(reader)
    began_ms = stage.clock.now_ms()
    stage.advance(10_000)
    reader.beat()
    assert stage.group.matched["eu.*"].matched_ms == began_ms
    stage.advance(1)
    reader.beat()
    assert stage.group.matched["eu.*"].matched_ms == began_ms + 10_001
    assert reader.epoch == 2


def test_an_expression_that_only_the_log_has_is_matched_when_its_member_comes(stage: ConsumerStage) -> None:
    key = write_coordinator_key(ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="them"))
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="",
        client_host="",
        subscribed_topic_names=(),
        subscribed_topic_regex="eu.*",
        server_assignor=None,
        classic_member_metadata=None,
    )
    stage.log.append((key, write_coordinator_value(value, 0)))
    stage = stage.restarted()
    other = Consumer(stage, ("bills",))
    other.beat()
    them = Consumer(stage, None, expression="eu.*")
    them.member_id = "them"
    stage.settle(them, other)
    assert topics(them) == {"eu-orders"}


def test_remembered_names_are_not_held_against_an_expression_again(stage: ConsumerStage) -> None:
    expressions = Expressions()
    first = expressions.match(".*-orders", stage.image.topics)
    assert expressions.match(".*-orders", stage.image.topics) is first
    stage.create("jp-orders")
    stage.delete("eu-orders")
    assert expressions.match(".*-orders", stage.image.topics) == {"us-orders", "jp-orders"}
    assert expressions.match("(", stage.image.topics) == frozenset()
