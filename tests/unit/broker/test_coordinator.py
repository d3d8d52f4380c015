"""Answers of a coordinator, on their way back to those who asked."""

from collections.abc import Sequence
from typing import Any, cast

from odradek.broker.call import Call
from odradek.broker.coordination.coordinator import Coordinator
from odradek.coordinators.result import Answer, CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.heartbeat import HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.schema import Message
from support.connections import client_at
from support.coordinator_stage import CoordinatorStage, Recorder, on_stage
from support.failures import collected

KEY = "b"
_JOIN_GROUP, _HEARTBEAT = 11, 12


class Reply:
    parts: Sequence[bytes] | None = None

    def send(self, parts: Sequence[bytes]) -> None:
        assert self.parts is None, "answered once"
        self.parts = parts

    @property
    def code(self) -> int:
        """Of a response in version 0, in which it comes first."""
        assert self.parts is not None
        return int.from_bytes(b"".join(self.parts)[8:10], "big", signed=True)


def refusal(code: ErrorCode) -> Message:
    return HeartbeatResponse(error_code=code)


@on_stage
async def test_one_who_cannot_be_answered_keeps_nobody_else_from_his_answer(stage: CoordinatorStage) -> None:
    stage.lead()
    coordinator: Coordinator[Recorder] = Coordinator(stage.runtime)
    replies = Reply(), Reply()
    calls = [
        Call(client_at("127.0.0.1", 1234), cast("Any", reply), api, 0, 1, "member")
        for reply, api in zip(replies, (_JOIN_GROUP, _HEARTBEAT), strict=True)
    ]
    tickets: list[Any] = []

    def wait(_: Recorder, asked: RequestContext) -> CoordinatorResult:
        tickets.append(asked.ticket)
        return CoordinatorResult()

    def end(_: Recorder, asked: RequestContext) -> CoordinatorResult:
        no_text = JoinGroupResponse(leader=cast("Any", 7))
        return CoordinatorResult((), (Answer(tickets[0], no_text), Answer(asked.ticket, HeartbeatResponse())))

    coordinator.ask(calls[0], KEY, wait, refusal)
    with collected() as lines:
        coordinator.ask(calls[1], KEY, end, refusal)
    assert [reply.code for reply in replies] == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]
    (line,) = lines
    assert line.startswith("a request failed")
