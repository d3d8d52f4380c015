"""SyncGroup, versions 0 to 5."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

VERSIONS = (0, 5)


class SyncGroup:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: SyncGroupRequest) -> object:
        if not request.group_id:
            return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.membership.sync(asked, request),
            lambda code: SyncGroupResponse(error_code=code),
        )
