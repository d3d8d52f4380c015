"""OffsetDelete, version 0."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

VERSIONS = (0, 0)


class OffsetDelete:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: OffsetDeleteRequest) -> object:
        if not request.group_id:
            return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.offsets.delete(asked, request),
            lambda code: OffsetDeleteResponse(error_code=code),
        )
