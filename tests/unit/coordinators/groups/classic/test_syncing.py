"""How members of a classic group get their assignments, and what keeps them in the group."""

import pytest

from odradek.model.error_code import ErrorCode
from support.classic_stage import REBALANCE_MS, SESSION_MS, ClassicStage


def completing(stage: ClassicStage, count: int = 2) -> list[str]:
    """A group whose members have joined, and wait for their leader, the first."""
    entered = [stage.enter() for _ in range(count)]
    stage.wait_for(entered[-1][1])
    return [member_id for member_id, _ in entered]


def test_a_follower_waits_until_the_leader_has_assigned() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    waiting = stage.sync(follower, 1)
    assert waiting not in stage.answers
    ticket = stage.sync(leader, 1, {leader: b"mine", follower: b"yours"})
    assert stage.synced(waiting).assignment == b"yours"
    assert (stage.synced(ticket).assignment, stage.synced(ticket).error_code) == (b"mine", 0)
    assert (stage.synced(ticket).protocol_type, stage.synced(ticket).protocol_name) == ("consumer", "range")
    assert stage.group().state_name == "Stable"


def test_a_follower_that_comes_after_the_leader_is_told_at_once() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    stage.sync(leader, 1, {follower: b"yours", "somebody": b"else"})
    assert stage.synced(stage.sync(follower, 1)).assignment == b"yours"
    assert stage.synced(stage.sync(leader, 1)).assignment == b""
    assert stage.synced(stage.sync(follower, 1, {follower: b"no"})).assignment == b"yours"


def test_a_group_whose_assignments_cannot_be_written_rebalances() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    stage.sync(follower, 1)
    stage.is_full = True
    stage.sync(leader, 1, {leader: b"mine", follower: b"yours"})
    stage.advance(0)
    assert stage.group().state_name == "PreparingRebalance"
    assert stage.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    stage.is_full = False
    again = [stage.join(member_id) for member_id in (leader, follower)]
    assert [stage.joined(ticket).generation_id for ticket in again] == [2, 2]
    stage.sync(leader, 2, {leader: b"mine", follower: b"yours"})
    stage.advance(0)
    assert stage.group().state_name == "Stable"


def test_the_generation_is_written_with_its_assignments() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    joined_ms = stage.clock.now_ms()
    stage.advance(5)
    stage.sync(leader, 1, {leader: b"mine", follower: b"yours"})
    value = stage.values[-1]
    assert value is not None
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("consumer", 1, "range", leader)
    assert value.current_state_timestamp == joined_ms
    assert [(each.member_id, each.assignment) for each in value.members] == [(leader, b"mine"), (follower, b"yours")]
    one = value.members[0]
    assert (one.client_id, one.client_host, one.group_instance_id) == ("client", "/127.0.0.1", None)
    assert (one.session_timeout, one.rebalance_timeout) == (SESSION_MS, REBALANCE_MS)


def test_an_assignment_that_cannot_be_written_leaves_the_group_as_it_was() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    stage.is_full = True
    stage.sync(leader, 1, {leader: b"mine"})
    assert stage.group().state_name == "CompletingRebalance"
    stage.is_full = False
    stage.sync(leader, 1, {leader: b"mine", follower: b"yours"})
    assert stage.synced(stage.sync(follower, 1)).assignment == b"yours"


def test_an_older_request_to_sync_is_answered_when_a_newer_one_comes() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    older, newer = stage.sync(follower, 1), stage.sync(follower, 1)
    assert stage.synced(older).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    stage.sync(leader, 1, {follower: b"yours"})
    assert stage.synced(newer).assignment == b"yours"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": ""}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "no-such-group"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_name": "roundrobin"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None, "protocol_name": None, "version": 4}, ErrorCode.NONE),
    ],
)
def test_who_may_sync(fields: dict[str, object], code: ErrorCode) -> None:
    stage = ClassicStage()
    (member,) = completing(stage, 1)
    ticket = stage.sync(**{"member_id": member, "generation": 1, **fields})  # type: ignore[arg-type]
    assert stage.synced(ticket).error_code == code
    assert stage.group().state_name == ("Stable" if code is ErrorCode.NONE else "CompletingRebalance")


def test_a_rebalance_ends_the_wait_for_an_assignment() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    waiting = stage.sync(follower, 1)
    stage.enter()
    assert stage.synced(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.synced(stage.sync(leader, 1)).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_does_not_ask_for_its_assignment_in_time_is_out() -> None:
    stage = ClassicStage()
    leader, follower = completing(stage)
    stage.sync(leader, 1)
    for _ in range(REBALANCE_MS // 5000):  # heartbeats alone are not enough
        assert stage.heartbeat(leader, 1) == stage.heartbeat(follower, 1) == 0
        stage.advance(5000)
    assert stage.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(stage.joined(stage.join(leader)).members) == 1


# --- heartbeats


def test_a_heartbeat_extends_the_session() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    for _ in range(5):
        stage.advance(SESSION_MS - 1)
        assert stage.heartbeat(member, 1) == 0
    stage.advance(SESSION_MS)
    assert stage.heartbeat(member, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.group().state_name == "Empty"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "no-such-group"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_heartbeat_of_a_stranger(fields: dict[str, object], code: ErrorCode) -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    assert stage.heartbeat(**{"member_id": member, "generation": 1, **fields}) == code  # type: ignore[arg-type]


def test_a_silent_member_is_out_and_the_others_rebalance() -> None:
    stage = ClassicStage()
    first, second = stage.stable(None, None)
    stage.advance(SESSION_MS // 2)
    assert stage.heartbeat(second, 1) == 0
    stage.advance(SESSION_MS // 2)
    assert stage.heartbeat(first, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(second, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    told = stage.joined(stage.join(second))
    assert (told.generation_id, told.leader, len(told.members)) == (2, second, 1)


def test_who_waits_need_send_no_heartbeats() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable(None, None)
    waiting = stage.join(leader)
    for _ in range(3):
        stage.advance(SESSION_MS - 1)
        stage.heartbeat(follower, 1)
    assert waiting not in stage.answers
    stage.join(follower)
    assert stage.joined(waiting).generation_id == 2
