"""Members of a consumer group that speak the classic protocol: what they are answered, and what they must not miss."""

from typing import Any

import pytest

from odradek.coordinators.groups.consumer.member import MemberState
from odradek.coordinators.groups.errors import IllegalGeneration
from odradek.coordinators.groups.group import GroupKind, Member
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from support.consumer_stage import GROUP, REBALANCE_MS, Consumer
from support.migration_stage import CLASSIC_SESSION_MS, ClassicConsumer, MigrationStage

ORDERS = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
"""A subscription in its first version."""


@pytest.fixture
def stage() -> MigrationStage:
    stage = MigrationStage()
    stage.create("orders", 6)
    return stage


@pytest.fixture
def modern(stage: MigrationStage) -> Consumer:
    """A member of the consumer protocol: with it there is a consumer group."""
    member = Consumer(stage)
    stage.run(member)
    return member


def join(stage: MigrationStage, member_id: str = "", version: int = 9, **fields: object) -> JoinGroupResponse:
    known = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": (JoinGroupRequestProtocol(name="range", metadata=ORDERS),),
    }
    asked = stage.asked(version)
    request = JoinGroupRequest(group_id=GROUP, member_id=member_id, **{**known, **fields})  # type: ignore[arg-type]
    stage.perform(stage.members.join(asked, request))
    answer = stage.answers[asked.ticket]
    assert isinstance(answer, JoinGroupResponse)
    return answer


def sync(stage: MigrationStage, member_id: str, generation: int, **fields: object) -> SyncGroupResponse:
    known = {"protocol_type": "consumer", "protocol_name": "range"}
    request = SyncGroupRequest(
        group_id=GROUP,
        generation_id=generation,
        member_id=member_id,
        assignments=(),
        **{**known, **fields},  # type: ignore[arg-type]
    )
    asked = stage.asked(5)
    stage.perform(stage.members.sync(asked, request))
    answer = stage.answers[asked.ticket]
    assert isinstance(answer, SyncGroupResponse)
    return answer


def beat(stage: MigrationStage, member_id: str, generation: int, instance_id: str | None = None) -> int:
    asked = stage.asked(4)
    request = HeartbeatRequest(
        group_id=GROUP, generation_id=generation, member_id=member_id, group_instance_id=instance_id
    )
    stage.perform(stage.members.heartbeat(asked, request))
    answer = stage.answers[asked.ticket]
    assert isinstance(answer, HeartbeatResponse)
    return answer.error_code


def leave(stage: MigrationStage, *members: MemberIdentity) -> LeaveGroupResponse:
    asked = stage.asked(5)
    stage.perform(stage.members.leave(asked, LeaveGroupRequest(group_id=GROUP, members=members)))
    answer = stage.answers[asked.ticket]
    assert isinstance(answer, LeaveGroupResponse)
    return answer


# --- joining


def test_a_member_without_an_id_is_given_one_first(stage: MigrationStage, modern: Consumer) -> None:
    told = join(stage)
    assert (told.error_code, bool(told.member_id)) == (ErrorCode.MEMBER_ID_REQUIRED, True)
    assert told.member_id not in stage.group.members
    assert join(stage, told.member_id).member_id == told.member_id
    early = join(stage, version=3)
    assert early.error_code == ErrorCode.NONE
    assert stage.group.members.keys() == {modern.member_id, told.member_id, early.member_id}


def test_nobody_leads_and_nobody_waits(stage: MigrationStage, modern: Consumer) -> None:
    told = join(stage, "m")
    assert (told.leader, told.members, told.protocol_type, told.protocol_name) == ("", (), "consumer", "range")
    assert told.generation_id == stage.group.target_epoch
    given = sync(stage, "m", told.generation_id)
    assert given.assignment == b"\0\0\0\0\0\0\xff\xff\xff\xff", "what it should have is not free yet"
    assert stage.group.members["m"].state is MemberState.UNRELEASED_PARTITIONS
    assert beat(stage, "m", told.generation_id) == ErrorCode.NONE
    modern.beat()
    modern.beat()
    assert beat(stage, "m", told.generation_id) == ErrorCode.REBALANCE_IN_PROGRESS, "now it is"
    told = join(stage, "m")
    assert len(sync(stage, "m", told.generation_id).assignment) > len(given.assignment)
    assert beat(stage, "m", told.generation_id) == ErrorCode.NONE
    assert stage.group.state_name == "Stable"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (
            {"protocols": (JoinGroupRequestProtocol(name="range", metadata=b"?"),)},
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_is_refused(stage: MigrationStage, modern: Consumer, fields: dict[str, Any], code: ErrorCode) -> None:
    size = len(stage.log)
    assert join(stage, "m", **fields).error_code == code
    assert len(stage.log) == size


def test_classic_members_must_have_a_protocol_in_common(stage: MigrationStage, modern: Consumer) -> None:
    join(stage, "m")
    sticky = (JoinGroupRequestProtocol(name="sticky", metadata=ORDERS),)
    both = (*sticky, JoinGroupRequestProtocol(name="range", metadata=ORDERS))
    assert join(stage, "n", protocols=sticky).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert join(stage, "n", protocols=both).error_code == ErrorCode.NONE


def test_a_full_group_takes_nobody() -> None:
    stage = MigrationStage(BrokerConfig(group_consumer_max_size=1))
    stage.create("orders", 6)
    stage.run(Consumer(stage))
    assert join(stage, "m").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_static_member_is_replaced_under_another_id(stage: MigrationStage, modern: Consumer) -> None:
    one = ClassicConsumer(stage, instance_id="i")
    stage.run(modern, one)
    two = ClassicConsumer(stage, instance_id="i")
    stage.run(modern, two)
    assert (two.has, one.member_id in stage.group.members) == (one.has, False)
    assert beat(stage, one.member_id, one.generation, "i") == ErrorCode.FENCED_INSTANCE_ID
    protocols = (JoinGroupRequestProtocol(name=one.protocol, metadata=one.metadata()),)
    refused = join(stage, one.member_id, group_instance_id="i", protocols=protocols)
    assert refused.error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_subscription_that_changes_makes_a_new_target(stage: MigrationStage, modern: Consumer) -> None:
    stage.create("bills", 2)
    one = ClassicConsumer(stage)
    stage.run(modern, one)
    one.topics = ("orders", "bills")
    one.phase = one.phase.OUT
    stage.run(modern, one)
    assert {("bills", 0), ("bills", 1)} <= one.has
    assert (len(one.has), len(modern.has)) == (4, 4)


def test_what_a_member_says_it_has_is_nobody_elses(stage: MigrationStage, modern: Consumer) -> None:
    one, two = ClassicConsumer(stage), Consumer(stage)
    stage.run(modern, one)
    two.beat()
    one.step()
    one.step()  # it joins, and has not heard yet what it is to give back
    two.beat()
    assert two.has.isdisjoint(one.has)
    stage.run(modern, one, two)
    assert [len(each.has) for each in (modern, one, two)] == [2, 2, 2]


# --- syncing


def test_what_a_sync_must_say(stage: MigrationStage, modern: Consumer) -> None:
    generation = join(stage, "m").generation_id
    assert sync(stage, "n", generation).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(stage, modern.member_id, modern.epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(stage, "m", generation - 1).error_code == ErrorCode.ILLEGAL_GENERATION
    assert sync(stage, "m", generation, protocol_name="sticky").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(stage, "m", generation, protocol_type="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(stage, "m", generation, protocol_name=None).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(stage, "m", generation, group_instance_id="i").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(stage, "m", generation).error_code == ErrorCode.NONE


def test_a_sync_that_comes_too_late_sends_the_member_back(stage: MigrationStage, modern: Consumer) -> None:
    generation = join(stage, "m").generation_id
    Consumer(stage).beat()
    assert sync(stage, "m", generation).error_code == ErrorCode.REBALANCE_IN_PROGRESS


# --- staying


def test_whose_heartbeats_are_refused(stage: MigrationStage, modern: Consumer) -> None:
    generation = join(stage, "m").generation_id
    assert beat(stage, "n", generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(stage, modern.member_id, modern.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(stage, "m", generation + 1) == ErrorCode.ILLEGAL_GENERATION


def test_commits_of_a_generation_that_is_over_are_refused(stage: MigrationStage, modern: Consumer) -> None:
    one = ClassicConsumer(stage)
    stage.run(modern, one)
    stage.group.check_commit(Member(one.member_id, one.generation), 2, transactional=False)
    with pytest.raises(IllegalGeneration):
        stage.group.check_commit(Member(one.member_id, one.generation + 1), 2, transactional=False)


def test_a_member_is_out_that_is_silent_for_its_own_session(stage: MigrationStage, modern: Consumer) -> None:
    one = ClassicConsumer(stage)
    stage.run(modern, one)
    one.step()
    stage.advance(CLASSIC_SESSION_MS - 1)
    assert one.member_id in stage.group.members
    stage.advance(1)
    assert one.member_id not in stage.group.members
    stage.run(modern)
    assert len(modern.has) == 6


def test_a_member_is_out_that_does_not_join_when_it_is_called(stage: MigrationStage, modern: Consumer) -> None:
    one = ClassicConsumer(stage)
    stage.run(modern, one)
    two = Consumer(stage)
    two.beat()
    for _ in range(REBALANCE_MS // 5_000):
        assert beat(stage, one.member_id, one.generation) == ErrorCode.REBALANCE_IN_PROGRESS
        modern.beat()
        two.beat()
        stage.advance(5_000)
    assert one.member_id not in stage.group.members, "heartbeats do not keep it in"


def test_a_member_is_out_that_joins_and_does_not_sync(stage: MigrationStage, modern: Consumer) -> None:
    generation = join(stage, "m").generation_id
    for _ in range(12):
        assert beat(stage, "m", generation) == ErrorCode.NONE
        modern.keeps = True
        modern.beat()
        stage.advance(5_000)
    assert "m" not in stage.group.members


def test_one_that_joins_and_syncs_in_time_stays(stage: MigrationStage, modern: Consumer) -> None:
    one = ClassicConsumer(stage)
    stage.run(modern, one)
    two = Consumer(stage)
    stage.run(modern, one, two)
    for _ in range(2 * REBALANCE_MS // 5_000):
        stage.advance(5_000)
        for each in (modern, two):
            each.beat()
        one.step()
    assert one.is_in
    assert stage.group.state_name == "Stable"


# --- leaving


def test_members_leave_one_by_one_or_together(stage: MigrationStage, modern: Consumer) -> None:
    join(stage, "m")
    join(stage, "n")
    told = join(stage, "", group_instance_id="i")
    answer = leave(
        stage,
        MemberIdentity(member_id="m"),
        MemberIdentity(member_id="?"),
        MemberIdentity(member_id="", group_instance_id="i"),
        MemberIdentity(member_id="x", group_instance_id="i"),
        MemberIdentity(member_id="", group_instance_id="?"),
    )
    assert [each.error_code for each in answer.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert told.member_id not in stage.group.members
    assert stage.group.members.keys() == {modern.member_id, "n"}


def test_nobody_leaves_and_nothing_is_written(stage: MigrationStage, modern: Consumer) -> None:
    size = len(stage.log)
    leave(stage, MemberIdentity(member_id="?"))
    assert (len(stage.log), stage.kind) == (size, GroupKind.CONSUMER)


def test_all_leave_at_once(stage: MigrationStage, modern: Consumer) -> None:
    join(stage, "m")
    leave(stage, MemberIdentity(member_id="m"), MemberIdentity(member_id=modern.member_id))
    assert (stage.kind, stage.group.state_name) == (GroupKind.CONSUMER, "Empty")


def test_the_one_that_speaks_for_all_others_leaves(stage: MigrationStage, modern: Consumer) -> None:
    """LeaveGroup takes out members of either protocol, as tools do."""
    one = ClassicConsumer(stage)
    stage.run(modern, one)
    leave(stage, MemberIdentity(member_id=modern.member_id))
    stage.run(one)
    assert (stage.kind, len(one.has)) == (GroupKind.CLASSIC, 6)
