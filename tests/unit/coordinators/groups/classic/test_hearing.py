"""Heartbeats that are heard without further ado, and those that are not."""

from odradek.model.error_code import ErrorCode
from odradek.wire.group_requests import Heartbeat
from support.classic_stage import GROUP, SESSION_MS, ClassicStage


def test_a_heartbeat_keeps_a_member_in_a_stable_group() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    for _ in range(3):
        stage.advance(SESSION_MS - 1)
        assert stage.classic.hears(Heartbeat(GROUP, 1, member, None))
    stage.advance(SESSION_MS)
    assert not stage.classic.hears(Heartbeat(GROUP, 1, member, None)), "it was silent for too long"


def test_what_is_not_as_it_should_be_is_not_heard() -> None:
    stage = ClassicStage()
    member, static = stage.stable(None, "till-1")
    hears = stage.classic.hears
    assert hears(Heartbeat(GROUP, 1, static, "till-1"))
    assert hears(Heartbeat(GROUP, 1, static, None))
    assert not hears(Heartbeat("nobody", 1, member, None))
    assert not hears(Heartbeat(GROUP, 0, member, None))
    assert not hears(Heartbeat(GROUP, 2, member, None))
    assert not hears(Heartbeat(GROUP, 1, "stranger", None))
    assert not hears(Heartbeat(GROUP, 1, member, "till-1"))
    assert not hears(Heartbeat(GROUP, 1, static, "till-2"))


def test_a_member_of_a_group_that_rebalances_has_to_be_told() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    stage.enter()
    assert not stage.classic.hears(Heartbeat(GROUP, 1, member, None))
    assert stage.heartbeat(member, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_one_that_is_not_heard_does_not_live_longer() -> None:
    stage = ClassicStage()
    (member,) = stage.stable(None)
    stage.advance(SESSION_MS - 1)
    assert not stage.classic.hears(Heartbeat(GROUP, 2, member, None))
    stage.advance(1)
    assert member not in stage.group().members
