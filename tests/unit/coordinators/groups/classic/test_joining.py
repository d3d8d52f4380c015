"""How members come into a classic group."""

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from support.classic_stage import GROUP, REBALANCE_MS, SESSION_MS, ClassicStage

INITIAL_DELAY_MS = 3000
FIVE_MINUTES_MS = 300_000


def test_two_join_and_the_first_leads() -> None:
    stage = ClassicStage()
    first_id, first = stage.enter(protocols={"range": b"one"})
    second_id, second = stage.enter(protocols={"range": b"two"})
    assert first not in stage.answers
    stage.advance(2 * INITIAL_DELAY_MS)
    leader, follower = stage.joined(first), stage.joined(second)
    assert (leader.error_code, leader.generation_id, leader.member_id, leader.leader) == (0, 1, first_id, first_id)
    assert (leader.protocol_type, leader.protocol_name) == ("consumer", "range")
    assert [(each.member_id, each.metadata) for each in leader.members] == [(first_id, b"one"), (second_id, b"two")]
    assert (follower.generation_id, follower.member_id, follower.leader) == (1, second_id, first_id)
    assert follower.members == ()
    assert stage.group().state_name == "CompletingRebalance"


def test_a_new_client_is_told_its_id_first() -> None:
    stage = ClassicStage()
    told = stage.joined(stage.join())
    assert (told.error_code, told.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "client-id1")
    assert (told.generation_id, told.leader, told.protocol_name) == (-1, "", None)
    assert stage.group().state_name == "Empty"


def test_one_that_never_comes_back_with_its_id_is_forgotten() -> None:
    stage = ClassicStage()
    member_id = stage.joined(stage.join()).member_id
    stage.advance(SESSION_MS)
    again = stage.joined(stage.join(member_id))
    assert (again.error_code, again.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, member_id)
    assert len(stage.timers) == 0


@pytest.mark.parametrize("version", range(4))
def test_early_versions_join_in_one_step(version: int) -> None:
    stage = ClassicStage()
    ticket = stage.join(version=version)
    stage.advance(INITIAL_DELAY_MS)
    told = stage.joined(ticket)
    assert (told.error_code, told.generation_id, told.member_id) == (0, 1, "client-id1")


def test_version_0_has_one_timeout() -> None:
    stage = ClassicStage()
    stage.join(version=0, rebalance_timeout_ms=-1)
    assert stage.group().rebalance_timeout_ms == SESSION_MS


def test_a_new_group_is_written_before_it_has_a_generation() -> None:
    stage = ClassicStage()
    stage.join()
    (value,) = stage.values
    assert value is not None
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("", 0, None, None)
    assert value.members == ()
    assert value.current_state_timestamp == stage.clock.now_ms()
    stage.enter()
    assert len(stage.log) == 1


def test_a_group_that_could_not_be_written_is_written_with_the_next_join() -> None:
    stage = ClassicStage()
    stage.is_full = True
    waiting = stage.join(version=0)
    assert GROUP not in stage.groups
    stage.is_full = False
    stage.join(version=0)
    assert len(stage.log) == 1
    stage.wait_for(waiting)
    assert len(stage.joined(waiting).members) == 2


# --- the initial delay


def test_the_first_rebalance_waits_while_members_come() -> None:
    stage = ClassicStage()
    _, first = stage.enter()
    stage.advance(INITIAL_DELAY_MS - 1)
    _, second = stage.enter()
    stage.advance(1)
    assert first not in stage.answers
    stage.advance(INITIAL_DELAY_MS - 1)
    assert first not in stage.answers
    stage.advance(1)
    assert stage.joined(first).generation_id == stage.joined(second).generation_id == 1


def test_the_first_rebalance_waits_no_longer_than_the_rebalance_timeout() -> None:
    stage = ClassicStage()
    _, first = stage.enter(rebalance_timeout_ms=2 * INITIAL_DELAY_MS)
    for _ in range(3):
        stage.advance(INITIAL_DELAY_MS // 2)
        stage.enter(rebalance_timeout_ms=2 * INITIAL_DELAY_MS)
    assert first not in stage.answers
    stage.advance(INITIAL_DELAY_MS // 2)
    assert len(stage.joined(first).members) == 4


def test_without_a_delay_the_first_rebalance_is_over_at_once() -> None:
    stage = ClassicStage(BrokerConfig(group_initial_rebalance_delay_ms=0))
    _, ticket = stage.enter()
    stage.advance(0)
    assert stage.joined(ticket).generation_id == 1


def test_a_member_may_wait_five_minutes_for_its_first_generation() -> None:
    stage = ClassicStage()
    old, ticket = stage.enter(rebalance_timeout_ms=2 * FIVE_MINUTES_MS)
    stage.wait_for(ticket)
    stage.sync(old, 1)
    _, new = stage.enter()
    while new not in stage.answers:  # the other one is alive, and takes its time
        assert stage.heartbeat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        stage.advance(5000)
    assert stage.clock.now_ms() == ClassicStage().clock.now_ms() + INITIAL_DELAY_MS + FIVE_MINUTES_MS
    assert stage.joined(new).error_code == ErrorCode.UNKNOWN_MEMBER_ID


# --- members that come again


def test_an_older_request_to_join_is_answered_when_a_newer_one_comes() -> None:
    stage = ClassicStage()
    member_id, older = stage.enter()
    newer = stage.join(member_id)
    assert stage.joined(older).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    stage.advance(INITIAL_DELAY_MS)
    assert stage.joined(newer).error_code == 0


def test_a_follower_that_joins_again_unchanged_hears_of_its_generation() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable(None, None)
    told = stage.joined(stage.join(follower))
    assert (told.generation_id, told.leader, told.members) == (1, leader, ())
    assert stage.group().state_name == "Stable"


def test_a_follower_that_joins_again_with_other_topics_makes_a_rebalance() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable(None, None)
    ticket = stage.join(follower, protocols={"range": b"more"})
    assert stage.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    other = stage.join(leader)
    assert stage.joined(ticket).generation_id == stage.joined(other).generation_id == 2
    assert [each.metadata for each in stage.joined(other).members] == [b"", b"more"]


def test_a_leader_that_joins_again_makes_a_rebalance() -> None:
    stage = ClassicStage()
    (leader,) = stage.stable(None)
    assert stage.joined(stage.join(leader)).generation_id == 2


def test_before_the_assignment_a_member_that_joins_again_hears_the_same_again() -> None:
    stage = ClassicStage()
    leader, first = stage.enter()
    follower, _ = stage.enter()
    stage.wait_for(first)
    assert stage.joined(stage.join(leader)) == stage.joined(first)
    assert stage.joined(stage.join(follower)).members == ()
    assert stage.group().state_name == "CompletingRebalance"


def test_who_does_not_join_in_time_is_out() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable(None, None)
    ticket = stage.join(follower, protocols={"range": b"more"})
    for _ in range(REBALANCE_MS // 5000):
        stage.heartbeat(leader, 1)
        stage.advance(5000)
    told = stage.joined(ticket)
    assert (told.generation_id, told.leader) == (2, follower)
    assert [each.member_id for each in told.members] == [follower]
    assert stage.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID


# --- protocols


def test_the_protocol_is_what_most_like_best_among_what_all_know() -> None:
    stage = ClassicStage()
    _, first = stage.enter(protocols={"sticky": b"", "range": b"1", "roundrobin": b"a"})
    stage.enter(protocols={"roundrobin": b"b", "range": b"2"})
    stage.enter(protocols={"roundrobin": b"c", "range": b"3"})
    stage.wait_for(first)
    assert stage.joined(first).protocol_name == "roundrobin"
    assert [each.metadata for each in stage.joined(first).members] == [b"a", b"b", b"c"]


def test_a_protocol_that_nobody_shares_is_refused() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    refused = stage.joined(stage.join(protocols={"sticky": b""}))
    assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    refused = stage.joined(stage.join(member, protocols={"sticky": b""}))
    assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member)
    assert stage.joined(stage.join(protocol_type="connect")).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.group().state_name == "Stable"
    assert list(stage.group().members) == [member]


@pytest.mark.parametrize("fields", [{"protocols": {}}, {"protocol_type": ""}])
def test_an_empty_group_needs_some_protocol(fields: dict[str, object]) -> None:
    stage = ClassicStage()
    refused = stage.joined(stage.join(**fields))  # type: ignore[arg-type]
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_any_protocol_type_will_do() -> None:
    stage = ClassicStage()
    _, ticket = stage.enter(protocol_type="connect", protocols={"compatible": b"\x00"})
    stage.wait_for(ticket)
    assert stage.joined(ticket).protocol_type == "connect"
    assert not stage.group().is_subscribed("orders")


# --- limits


def test_a_full_group_takes_nobody_else() -> None:
    stage = ClassicStage(BrokerConfig(group_max_size=2))
    first, second = stage.stable(None, None)
    refused = stage.joined(stage.join())
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    rejoining = stage.join(first)
    assert rejoining not in stage.answers
    assert stage.joined(stage.join(second, protocols={"range": b"more"})).error_code == 0
    assert len(stage.joined(rejoining).members) == 2


def test_who_comes_too_late_to_a_full_group_is_out() -> None:
    stage = ClassicStage(BrokerConfig(group_max_size=2))
    tickets = [stage.enter()[1] for _ in range(2)]
    late = stage.joined(stage.join())
    assert late.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    stage.wait_for(tickets[0])
    assert len(stage.joined(tickets[0]).members) == 2


def test_a_group_that_is_larger_than_allowed_after_a_restart_rebalances() -> None:
    stage = ClassicStage()
    stage.stable(None, None, None)
    stage.config = BrokerConfig(group_max_size=2)
    restarted = stage.restarted()
    assert restarted.group().state_name == "PreparingRebalance"
    first, second, third = [restarted.join(member_id) for member_id in list(restarted.group().members)]
    assert restarted.joined(third).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert restarted.joined(first).error_code == restarted.joined(second).error_code == 0
    assert len(restarted.joined(first).members) == 2


@pytest.mark.parametrize("timeout_ms", [5999, 1_800_001, -1])
def test_a_session_timeout_has_bounds(timeout_ms: int) -> None:
    stage = ClassicStage()
    refused = stage.joined(stage.join("me", session_timeout_ms=timeout_ms))
    assert (refused.error_code, refused.member_id) == (ErrorCode.INVALID_SESSION_TIMEOUT, "me")
    assert not stage.groups


def test_an_id_that_was_not_given_out_is_unknown() -> None:
    stage = ClassicStage()
    assert stage.joined(stage.join("me")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert not stage.groups
    stage.stable(None)
    refused = stage.joined(stage.join("me"))
    assert (refused.error_code, refused.member_id, refused.protocol_name) == (ErrorCode.UNKNOWN_MEMBER_ID, "me", None)
    assert stage.joined(stage.join("me", version=6)).protocol_name == ""
