"""Static members keep their place when they restart, and fence off who had it before."""

from odradek.model.error_code import ErrorCode
from support.classic_stage import REBALANCE_MS, SESSION_MS, ClassicStage


def test_a_static_member_joins_in_one_step() -> None:
    stage = ClassicStage()
    ticket = stage.join(instance_id="a")
    stage.wait_for(ticket)
    told = stage.joined(ticket)
    assert (told.error_code, told.member_id) == (0, "a-id1")
    assert [each.group_instance_id for each in told.members] == ["a"]


def test_a_follower_restarts_without_a_rebalance() -> None:
    stage = ClassicStage()
    leader, old = stage.stable("a", "b")
    told = stage.joined(stage.join(instance_id="b"))
    new = told.member_id
    assert (told.error_code, told.generation_id, told.leader, told.members) == (0, 1, leader, ())
    assert not told.skip_assignment
    assert new != old
    assert stage.heartbeat(leader, 1, "a") == 0
    assert stage.heartbeat(new, 1, "b") == 0
    assert stage.heartbeat(old, 1, "b") == ErrorCode.FENCED_INSTANCE_ID
    assert stage.heartbeat(old, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.synced(stage.sync(new, 1, group_instance_id="b")).assignment == old.encode()
    value = stage.values[-1]
    assert value is not None
    assert [(each.member_id, each.assignment) for each in value.members] == [
        (leader, leader.encode()),
        (new, old.encode()),
    ]


def test_a_leader_restarts_and_need_not_assign() -> None:
    stage = ClassicStage()
    old, follower = stage.stable("a", "b")
    told = stage.joined(stage.join(instance_id="a", protocols={"range": b"news"}))
    assert told.skip_assignment
    assert told.leader == told.member_id != old
    assert [(each.member_id, each.metadata) for each in told.members] == [(told.member_id, b"news"), (follower, b"")]
    assert stage.group().leader == told.member_id
    assert stage.group().state_name == "Stable"


def test_a_leader_that_cannot_skip_the_assignment_is_not_told_that_it_leads() -> None:
    stage = ClassicStage()
    old, _ = stage.stable("a", "b")
    told = stage.joined(stage.join(instance_id="a", version=8))
    assert (told.leader, told.members, told.skip_assignment) == (old, (), False)
    assert stage.group().leader == told.member_id


def test_a_restart_that_could_not_be_written_left_everything_as_it_was() -> None:
    stage = ClassicStage()
    (old,) = stage.stable("a")
    stage.is_full = True
    stage.join(instance_id="a")
    assert stage.heartbeat(old, 1, "a") == 0
    stage.is_full = False
    new = stage.joined(stage.join(instance_id="a")).member_id
    assert list(stage.group().members) == [new]


def test_a_session_goes_on_under_the_new_id() -> None:
    stage = ClassicStage()
    stage.stable("a")
    stage.advance(SESSION_MS - 1)
    new = stage.joined(stage.join(instance_id="a")).member_id
    stage.advance(SESSION_MS - 1)
    assert stage.heartbeat(new, 1, "a") == 0
    stage.advance(SESSION_MS)
    assert stage.group().state_name == "Empty"


def test_a_restart_with_another_protocol_makes_a_rebalance() -> None:
    stage = ClassicStage()
    first = stage.join(instance_id="a", protocols={"range": b"", "sticky": b""})
    stage.wait_for(first)
    stage.sync(stage.joined(first).member_id, 1)
    told = stage.joined(stage.join(instance_id="a", protocols={"sticky": b""}))
    assert (told.generation_id, told.protocol_name) == (2, "sticky")


def test_an_older_holder_that_still_waits_is_fenced() -> None:
    stage = ClassicStage()
    joining = stage.join(instance_id="a")
    newer = stage.join(instance_id="a")
    fenced = stage.joined(joining)
    assert (fenced.error_code, fenced.member_id, fenced.protocol_name) == (
        ErrorCode.FENCED_INSTANCE_ID,
        "a-id1",
        None,
    )
    stage.wait_for(newer)
    assert len(stage.joined(newer).members) == 1


def test_an_older_holder_that_waits_for_its_assignment_is_fenced() -> None:
    stage = ClassicStage()
    tickets = [stage.join(instance_id=name) for name in "ab"]
    stage.wait_for(tickets[0])
    old = stage.joined(tickets[1]).member_id
    syncing = stage.sync(old, 1, group_instance_id="b")
    newer = stage.join(instance_id="b")
    assert stage.synced(syncing).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert newer not in stage.answers
    rejoined = stage.join(stage.joined(tickets[0]).member_id, instance_id="a")
    assert stage.joined(newer).generation_id == stage.joined(rejoined).generation_id == 2


def test_a_static_member_that_is_late_stays_in_the_next_generation() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable("a", "b")
    waiting = stage.join(follower, instance_id="b", protocols={"range": b"more"})
    for _ in range(REBALANCE_MS // 5000):
        stage.heartbeat(leader, 1, "a")
        stage.advance(5000)
    told = stage.joined(waiting)
    assert (told.generation_id, told.leader, len(told.members)) == (2, follower, 2)
    late = stage.joined(stage.join(leader, instance_id="a"))
    assert (late.generation_id, late.leader) == (2, follower)


def test_a_rebalance_that_nobody_joins_goes_on() -> None:
    stage = ClassicStage()
    leader, follower = stage.stable("a", None)
    for _ in range(3):
        stage.advance(SESSION_MS // 2)
        stage.heartbeat(leader, 1, "a")
    assert stage.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    for _ in range(2 * REBALANCE_MS // 5000):
        stage.heartbeat(leader, 1, "a")
        stage.advance(5000)
    assert stage.group().state_name == "PreparingRebalance"
    assert stage.joined(stage.join(leader, instance_id="a")).generation_id == 2


def test_a_member_that_calls_itself_another_is_fenced() -> None:
    stage = ClassicStage()
    first, second = stage.stable("a", "b")
    assert stage.joined(stage.join(first, instance_id="b")).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert stage.joined(stage.join(second, instance_id="c")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.synced(stage.sync(first, 1, group_instance_id="b")).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert stage.heartbeat(first, 1, "b") == ErrorCode.FENCED_INSTANCE_ID


def test_an_id_that_was_given_out_is_not_for_static_members() -> None:
    stage = ClassicStage()
    pending = stage.joined(stage.join()).member_id
    refused = stage.joined(stage.join(pending, instance_id="a"))
    assert (refused.error_code, refused.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
