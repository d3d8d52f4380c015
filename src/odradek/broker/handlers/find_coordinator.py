"""FindCoordinator, versions 0 to 6. There is no coordinator yet, and clients are told to try again."""

from odradek.broker.call import Call
from odradek.metadata.uuids import from_text
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

VERSIONS = (0, 6)
_MANY_SINCE = 4
_GROUP, _TRANSACTION, _SHARE = range(3)


class FindCoordinator:
    def handle(self, call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        if call.version < _MANY_SINCE:
            return FindCoordinatorResponse(error_code=_code(request.key_type, request.key), node_id=-1, port=-1)
        missing = tuple(
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=_code(request.key_type, key))
            for key in request.coordinator_keys
        )
        return FindCoordinatorResponse(coordinators=missing)


def _code(kind: int, key: str) -> ErrorCode:
    if kind in (_GROUP, _TRANSACTION) or (kind == _SHARE and _is_share_key(key)):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.INVALID_REQUEST


def _is_share_key(key: str) -> bool:
    """`group:topic-id:partition`, where the group may have colons too."""
    group, _, rest = key.rpartition(":")
    group, _, topic_id = group.rpartition(":")
    try:
        from_text(topic_id)
    except ValueError:
        return False
    return bool(group.strip()) and rest.isascii() and rest.isdecimal()
