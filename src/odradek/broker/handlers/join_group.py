"""JoinGroup, versions 0 to 9."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.coordinators.groups.classic.answers import join_refused
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.join_group import JoinGroupRequest

VERSIONS = (0, 9)


class JoinGroup:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: JoinGroupRequest) -> object:
        if not request.group_id:
            return join_refused(call.version, ErrorCode.INVALID_GROUP_ID, request.member_id)
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.membership.join(asked, request),
            lambda code: join_refused(call.version, code),
        )
