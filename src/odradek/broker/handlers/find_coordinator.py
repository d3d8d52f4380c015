"""FindCoordinator, versions 0 to 6. There is no coordinator yet, and clients are told to try again."""

from odradek.broker.call import Call
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

VERSIONS = (0, 6)
_NOT_YET = ErrorCode.COORDINATOR_NOT_AVAILABLE


class FindCoordinator:
    def handle(self, call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        if call.version < 4:
            return FindCoordinatorResponse(error_code=_NOT_YET, node_id=-1, port=-1)
        missing = tuple(
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=_NOT_YET) for key in request.coordinator_keys
        )
        return FindCoordinatorResponse(coordinators=missing)
