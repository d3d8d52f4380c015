"""How members leave a classic group."""

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.leave_group import MemberIdentity
from support.classic_stage import ClassicStage


def named(member_id: str = "", instance_id: str | None = None) -> MemberIdentity:
    return MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason="enough")


def test_the_last_to_leave_leaves_an_empty_group() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    stage.advance(7)
    left = stage.leave(named(member))
    assert (left.error_code, [each.error_code for each in left.members]) == (0, [0])
    assert stage.group().state_name == "Empty"
    value = stage.values[-1]
    assert value is not None
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("consumer", 2, None, None)
    assert (value.members, value.current_state_timestamp) == ((), stage.clock.now_ms())
    assert len(stage.timers) == 0


def test_an_empty_group_goes_on_with_its_next_generation() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    stage.leave(named(member))
    _, ticket = stage.enter(protocol_type="connect", protocols={"other": b""})
    stage.wait_for(ticket)
    assert (stage.joined(ticket).generation_id, stage.joined(ticket).protocol_type) == (3, "connect")


def test_it_is_tried_again_to_write_that_a_group_is_empty() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    stage.is_full = True
    stage.advance(20_000)
    assert stage.group().state_name == "PreparingRebalance"
    stage.is_full = False
    stage.advance(1000)
    assert stage.group().state_name == "Empty"
    assert stage.group().generation == 2
    assert member not in stage.group().members


@pytest.mark.parametrize("version", range(3))
def test_early_versions_leave_one_by_one(version: int) -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    assert stage.leave(named("nobody"), version=version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.leave(named(member), version=version).error_code == 0
    assert stage.leave(named(member), version=version, group_id="no-group").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.group().state_name == "Empty"


def test_many_leave_at_once_and_each_has_its_own_error() -> None:
    stage = ClassicStage()
    dynamic, static, by_name, other, stays = stage.stable(None, "a", "b", "c", None)
    left = stage.leave(
        named(dynamic),
        named(static, "a"),
        named("", "b"),
        named("stranger"),
        named("stranger", "c"),
        named("", "d"),
        named(""),
        named(dynamic),
    )
    codes = [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert [each.error_code for each in left.members] == codes
    assert [each.group_instance_id for each in left.members][:3] == [None, "a", "b"]
    assert list(stage.group().members) == [other, stays]
    assert by_name not in stage.group().members
    assert stage.group().state_name == "PreparingRebalance"


def test_strangers_that_leave_change_nothing() -> None:
    stage = ClassicStage()
    stage.stable(None)
    before = len(stage.log)
    stage.leave(named("stranger"))
    assert stage.leave().members == ()
    assert stage.group().state_name == "Stable"
    assert len(stage.log) == before
    unknown = stage.leave(named("a"), named("", "b"), group_id="no-such-group")
    assert (unknown.error_code, [each.error_code for each in unknown.members]) == (0, [25, 25])


def test_an_id_can_be_given_back_before_it_is_used() -> None:
    stage = ClassicStage()
    member_id = stage.joined(stage.join()).member_id
    assert stage.leave(named(member_id)).members[0].error_code == 0
    assert stage.joined(stage.join(member_id)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.group().state_name == "Empty"
    assert len(stage.timers) == 0


def test_who_leaves_while_it_waits_is_answered() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable(None, None)
    joining = stage.join(leader)
    stage.leave(named(leader))
    assert stage.joined(joining).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    last = stage.join(follower)
    assert stage.joined(last).leader == follower
    syncing = stage.sync("client-id1", 2)
    assert stage.synced(syncing).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_leaves_while_it_waits_for_its_assignment_is_answered() -> None:
    stage = ClassicStage()
    entered = [stage.enter() for _ in range(2)]
    stage.wait_for(entered[1][1])
    follower = entered[1][0]
    waiting = stage.sync(follower, 1)
    stage.leave(named(follower))
    assert stage.synced(waiting).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_that_others_waited_for_leaves() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable(None, None)
    waiting = stage.join(leader)
    stage.leave(named(follower))
    assert [each.member_id for each in stage.joined(waiting).members] == [leader]
