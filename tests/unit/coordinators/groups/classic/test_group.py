"""What a classic group tells those who need not know its kind, and what is left of it after a restart."""

from collections.abc import Callable

import pytest

from odradek.coordinators.groups.group import GroupKind, Member
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import TimestampMs
from odradek.wire.codec import encode
from odradek.wire.messages.leave_group import MemberIdentity
from odradek.wire.records.classic_group import GroupMetadataKey
from odradek.wire.records.consumer_protocol import ConsumerProtocolSubscription
from support.classic_stage import GROUP, SESSION_MS, ClassicStage

NOBODY = Member("", -1)


def subscribed(*topics: str, version: int = 3) -> bytes:
    return version.to_bytes(2, "big") + encode(ConsumerProtocolSubscription(topics=topics), version)


def code_of(check: Callable[[], object]) -> ErrorCode:
    try:
        check()
    except BrokerError as error:
        return error.code
    return ErrorCode.NONE


def commit(stage: ClassicStage, member: Member, *, transactional: bool = False) -> ErrorCode:
    return code_of(lambda: stage.group().check_commit(member, 9, transactional=transactional))


def test_who_may_commit_to_a_stable_group() -> None:
    stage = ClassicStage()
    member, static = stage.stable(None, "a")
    assert commit(stage, Member(member, 1)) == ErrorCode.NONE
    assert commit(stage, Member(static, 1, "a")) == ErrorCode.NONE
    assert commit(stage, Member(member, 1, "a")) == ErrorCode.FENCED_INSTANCE_ID
    assert commit(stage, Member(member, 1, "b")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(stage, Member(member, 0)) == ErrorCode.ILLEGAL_GENERATION
    assert commit(stage, Member("stranger", 1)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(stage, Member("", 1)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(stage, NOBODY) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(stage, NOBODY, transactional=True) == ErrorCode.NONE
    assert commit(stage, Member(member, -1)) == ErrorCode.ILLEGAL_GENERATION


def test_who_may_commit_during_a_rebalance() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    _, ticket = stage.enter()
    assert commit(stage, Member(member, 1)) == ErrorCode.NONE  # what it has, before it joins again
    stage.join(member)
    stage.wait_for(ticket)
    assert commit(stage, Member(member, 2)) == ErrorCode.REBALANCE_IN_PROGRESS
    assert commit(stage, Member(member, 2), transactional=True) == ErrorCode.NONE
    assert commit(stage, Member(member, 1)) == ErrorCode.ILLEGAL_GENERATION


def test_who_may_commit_to_an_empty_group() -> None:
    stage = ClassicStage()
    stage.join()
    assert commit(stage, NOBODY) == ErrorCode.NONE
    assert commit(stage, Member("stranger", -1)) == ErrorCode.NONE
    assert commit(stage, Member("stranger", 1)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_with_members_is_not_deleted() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    group = stage.group()
    assert code_of(group.check_delete) == ErrorCode.NON_EMPTY_GROUP
    stage.leave(MemberIdentity(member_id=member))
    assert code_of(group.check_delete) == ErrorCode.NONE
    assert [(stored.key, stored.value) for stored in group.tombstones()] == [(GroupMetadataKey(group=GROUP), None)]
    stage.classic.replay(GroupMetadataKey(group=GROUP), None)
    assert not stage.groups


def test_what_a_deleted_group_waited_for_comes_no_more() -> None:
    stage = ClassicStage()
    stage.join()
    stage.classic.replay(GroupMetadataKey(group=GROUP), None)
    assert len(stage.timers) == 0


def test_offsets_of_topics_in_use_are_kept() -> None:
    stage = ClassicStage()
    tickets = [
        stage.join(instance_id=name, protocols={"range": subscribed(topic, version=version)})
        for name, topic, version in [("a", "orders", 0), ("b", "prices", 3)]
    ]
    stage.wait_for(tickets[0])
    assert stage.group().expiry_base_ms(TimestampMs(1)) is None
    stage.sync(stage.joined(tickets[0]).member_id, 1)
    for group in (stage.group(), stage.restarted().group()):
        assert [group.is_subscribed(topic) for topic in ("orders", "prices", "other")] == [True, True, False]
        assert group.expiry_base_ms(TimestampMs(1)) == 1
        assert code_of(group.check_offset_delete) == ErrorCode.NONE


@pytest.mark.parametrize(
    "metadata", [b"", b"\0", bytes(5), b"\0\0\0\0\0\1\0\5abc", b"\xff\xff\0\0\0\0", b"\0\0\xff\xff\xff\xff"]
)
def test_what_is_no_subscription_may_be_of_any_topic(metadata: bytes) -> None:
    stage = ClassicStage()
    ticket = stage.join(instance_id="a", protocols={"range": metadata})
    stage.wait_for(ticket)
    stage.sync("a-id1", 1)
    assert stage.group().is_subscribed("orders")
    assert stage.group().expiry_base_ms(TimestampMs(1)) is None


def test_offsets_of_members_that_are_no_consumers_are_not_deleted() -> None:
    stage = ClassicStage()
    _, ticket = stage.enter(protocol_type="connect")
    stage.wait_for(ticket)
    assert code_of(stage.group().check_offset_delete) == ErrorCode.NON_EMPTY_GROUP


def test_offsets_expire_since_the_group_is_empty() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    stage.advance(100)
    stage.leave(MemberIdentity(member_id=member))
    emptied_ms = stage.clock.now_ms()
    stage.advance(100)
    for group in (stage.group(), stage.restarted().group()):
        assert group.expiry_base_ms(TimestampMs(1)) == emptied_ms
        assert not group.is_subscribed("orders")


def test_a_group_without_members_ever() -> None:
    stage = ClassicStage()
    group = stage.classic.simple(GROUP)
    assert stage.groups == {GROUP: group}
    assert (group.kind, group.state_name, group.protocol_type) == (GroupKind.CLASSIC, "Empty", "")
    assert group.expiry_base_ms(TimestampMs(1)) == 1
    assert not group.is_subscribed("orders")
    stage.join()
    assert not stage.log  # the group exists, in the records of its offsets


# --- restarts


def test_a_stable_group_is_there_after_a_restart() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable("a", None)
    again = stage.restarted()
    assert again.group().state_name == "Stable"
    assert again.heartbeat(leader, 1, "a") == again.heartbeat(follower, 1) == 0
    assert again.synced(again.sync(follower, 1)).assignment == follower.encode()
    assert again.joined(again.join(follower)).leader == leader
    assert again.group().topics == stage.group().topics


def test_sessions_begin_when_a_group_is_loaded() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    again = stage.restarted()
    again.advance(SESSION_MS - 1)
    assert again.heartbeat(member, 1) == 0
    again.advance(SESSION_MS)
    assert again.group().state_name == "Empty"
    assert again.restarted().group().generation == 2


def test_a_generation_that_was_not_assigned_is_gone_after_a_restart() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    _, ticket = stage.enter()
    stage.join(member)
    stage.wait_for(ticket)
    assert stage.group().generation == 2
    again = stage.restarted()
    assert (again.group().generation, list(again.group().members)) == (1, [member])
    assert again.heartbeat(member, 2) == ErrorCode.ILLEGAL_GENERATION


# --- descriptions


def test_a_group_is_described() -> None:
    stage = ClassicStage()
    ticket = stage.join(instance_id="a", protocols={"range": b"said"})
    preparing = stage.classic.describe(GROUP, 5, 8)
    assert (preparing.group_state, preparing.protocol_data) == ("PreparingRebalance", "")
    assert [each.member_metadata for each in preparing.members] == [b""]
    stage.wait_for(ticket)
    stage.sync("a-id1", 1, {"a-id1": b"given"})
    stable = stage.classic.describe(GROUP, 5, 8)
    assert (stable.group_state, stable.protocol_type, stable.protocol_data) == ("Stable", "consumer", "range")
    assert stable.authorized_operations == 8
    (member,) = stable.members
    assert (member.member_id, member.group_instance_id, member.client_id) == ("a-id1", "a", "client")
    assert (member.client_host, member.member_metadata, member.member_assignment) == ("/127.0.0.1", b"said", b"given")


def test_a_group_that_is_not_there_is_dead() -> None:
    stage = ClassicStage()
    old, new = stage.classic.describe("nobody", 5, 8), stage.classic.describe("nobody", 6, 8)
    assert (old.error_code, old.group_state, old.error_message) == (0, "Dead", None)
    assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert (old.authorized_operations, new.authorized_operations) == (8, -(1 << 31))
