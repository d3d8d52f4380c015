"""OffsetCommit, versions 2 to 10."""

from odradek.broker.call import Call
from odradek.broker.groups import Groups
from odradek.coordinators.groups.offsets.commits import refusal
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
