"""What is told to those who run the broker: who came and went, and why a group rebalances. Never what is routine."""

from typing import Any

import pytest

from odradek.coordinators.groups.events import Event
from odradek.model.broker_config import BrokerConfig
from odradek.wire.messages.leave_group import MemberIdentity
from support.classic_stage import GROUP, REBALANCE_MS, SESSION_MS, ClassicStage
from support.consumer_stage import SESSION_MS as CONSUMER_SESSION_MS
from support.consumer_stage import Consumer, ConsumerStage
from support.migration_stage import ClassicConsumer, MigrationStage
from support.offset_stage import OffsetStage, offsets


def told(stage: Any) -> list[tuple[str, dict[str, object]]]:
    """Since the last time, without the name of the group."""
    events, stage.events = stage.events, []
    return [(text, {name: fields[name] for name in fields if name != "group"}) for text, fields in events]


# --- classic groups


def test_a_rebalance_is_told_with_its_reason_and_its_outcome() -> None:
    stage = ClassicStage()
    one, _ = stage.stable(None, None)
    assert all(isinstance(each, Event) and each.fields["group"] == GROUP for each in stage.events)
    assert told(stage) == [
        ("a group rebalances", {"generation": 0, "reason": f"{one} joins"}),
        ("a group has a new generation", {"generation": 1, "members": 2, "leader": one, "assignor": "range"}),
        ("a group is stable", {"generation": 1, "members": 2}),
    ]


def test_heartbeats_are_told_to_nobody() -> None:
    stage = ClassicStage()
    (one,) = stage.stable(None)
    told(stage)
    assert stage.heartbeat(one, 1) == 0
    assert told(stage) == []


def test_what_the_client_says_of_its_leaving_and_joining_is_told() -> None:
    stage = ClassicStage()
    one, two = stage.stable(None, None)
    told(stage)
    stage.leave(MemberIdentity(member_id=two, reason="the consumer is being closed"))
    assert told(stage) == [
        ("a member left", {"member": two, "reason": "the consumer is being closed"}),
        ("a group rebalances", {"generation": 1, "reason": "members left"}),
    ]
    stage.join(one)
    stage.sync(one, 2, {})
    told(stage)
    stage.join(one, reason="topics have more partitions")
    assert told(stage)[0] == (
        "a group rebalances",
        {"generation": 2, "reason": f"{one} joins again: topics have more partitions"},
    )


def test_a_silent_member_is_removed_and_the_last_leaves_an_empty_group() -> None:
    stage = ClassicStage()
    (one,) = stage.stable(None)
    told(stage)
    stage.advance(SESSION_MS)
    assert told(stage) == [
        ("a member was removed", {"member": one, "reason": f"no heartbeat for {SESSION_MS} ms"}),
        ("a group rebalances", {"generation": 1, "reason": f"{one} was removed"}),
        ("a group is empty", {"generation": 1}),
    ]


def test_members_that_do_not_join_or_sync_in_time_are_removed_for_that() -> None:
    stage = ClassicStage()
    one, two = stage.stable(None, None)
    told(stage)
    stage.join(one)
    for _ in range(REBALANCE_MS // 5_000):
        stage.heartbeat(two, 1)
        stage.advance(5_000)
    reason = "it did not join the rebalance in time"
    assert ("a member was removed", {"member": two, "reason": reason}) in told(stage)
    for _ in range(REBALANCE_MS // 5_000):
        stage.heartbeat(one, 2)
        stage.advance(5_000)
    reason = "it did not ask for its assignment in time"
    assert ("a member was removed", {"member": one, "reason": reason}) in told(stage)


def test_a_static_member_that_is_back_is_told_without_a_rebalance() -> None:
    stage = ClassicStage()
    (one,) = stage.stable("shelf")
    told(stage)
    again = stage.joined(stage.join(instance_id="shelf")).member_id
    assert told(stage) == [("a static member is back", {"instance": "shelf", "member": again, "was": one})]


def test_what_could_not_be_written_is_not_told() -> None:
    stage = ClassicStage()
    stage.is_full = True
    stage.join()
    assert told(stage) == []


# --- consumer groups


def test_members_of_consumer_groups_come_and_go() -> None:
    stage = ConsumerStage()
    stage.create("orders", 4)
    one = Consumer(stage)
    one.beat()
    assert told(stage) == [
        ("a member joined", {"member": one.member_id, "protocol": "consumer"}),
        ("a group is assigned anew", {"epoch": 2, "members": 1, "assignor": "uniform"}),
    ]
    one.beat()
    assert told(stage) == [], "as nearly always"
    stage.advance(CONSUMER_SESSION_MS)
    reason = "no heartbeat within its session"
    assert told(stage) == [("a member was removed", {"member": one.member_id, "reason": reason})]


def test_a_static_member_leaves_for_a_while_and_is_back() -> None:
    stage = ConsumerStage()
    stage.create("orders", 4)
    one = Consumer(stage, instance_id="shelf")
    stage.settle(one)
    told(stage)
    one.leave(-2)
    assert told(stage) == [("a member left", {"member": one.member_id, "reason": "for a while: it is static"})]
    again = Consumer(stage, instance_id="shelf")
    again.beat()
    fields = {"instance": "shelf", "member": again.member_id, "was": one.member_id}
    assert told(stage)[0] == ("a static member is back", fields)


def test_a_group_moves_between_the_protocols() -> None:
    stage = MigrationStage()
    stage.create("orders", 6)
    classic = ClassicConsumer(stage)
    stage.run(classic)
    told(stage)
    modern = Consumer(stage)
    modern.beat()
    assert told(stage)[0] == ("a group moved to the consumer protocol", {"members": 2})
    stage.run(classic, modern)
    told(stage)
    modern.leave()
    stage.advance(1)
    assert told(stage)[:3] == [
        ("a member left", {"member": modern.member_id}),
        ("a group moved to the classic protocol", {"members": 1}),
        ("a group rebalances", {"generation": 2, "reason": "it was a consumer group until now"}),
    ]


# --- offsets


@pytest.fixture
def shop() -> OffsetStage:
    stage = OffsetStage(BrokerConfig(offsets_retention_minutes=1))
    stage.add_topic("orders", 2)
    stage.shard.loaded()
    return stage


def test_offsets_that_expire_are_told_with_their_group(shop: OffsetStage) -> None:
    shop.commit(offsets("orders", 1, 0, 1))
    assert told(shop) == [], "commits are routine"
    shop.wait(shop.config.offsets_retention_check_interval_ms)
    assert told(shop) == [
        ("offsets expired", {"offsets": 2}),
        ("a group is forgotten: it has neither members nor offsets", {}),
    ]


def test_offsets_that_go_with_their_topic_are_told(shop: OffsetStage) -> None:
    shop.commit(offsets("orders", 1))
    shop.remove_topic("orders")
    assert shop.events == [Event("offsets of deleted topics are gone", {"topics": "orders", "offsets": 1})]
