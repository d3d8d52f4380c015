"""SyncGroup, versions 0 to 5."""

from odradek.broker.call import Call
from odradek.broker.groups import Groups
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

VERSIONS = (0, 5)
_PROTOCOL_REQUIRED_SINCE = 5
"""From this version on members say which protocol they go by."""


class SyncGroup:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: SyncGroupRequest) -> object:
        says_protocol = request.protocol_type is not None and request.protocol_name is not None
        if call.version >= _PROTOCOL_REQUIRED_SINCE and not says_protocol:
            return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not request.group_id:
            return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.classic.sync(asked, request),
            lambda code: SyncGroupResponse(error_code=code),
        )
