"""LeaveGroup, versions 0 to 5."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

VERSIONS = (0, 5)


class LeaveGroup:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: LeaveGroupRequest) -> object:
        if not request.group_id:
            return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.membership.leave(asked, request),
            lambda code: LeaveGroupResponse(error_code=code),
        )
