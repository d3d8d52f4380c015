"""ConsumerGroupHeartbeat, versions 0 and 1."""

from collections.abc import Callable

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

VERSIONS = (0, 1)


class ConsumerGroupHeartbeat:
    def __init__(self, groups: Groups, is_enabled: Callable[[], bool]) -> None:
        """`is_enabled`: whether the settings and the cluster's features allow the consumer protocol."""
        self._groups = groups
        self._is_enabled = is_enabled

    def handle(self, call: Call, request: ConsumerGroupHeartbeatRequest) -> object:
        if not self._is_enabled():
            return _refusal(ErrorCode.UNSUPPORTED_VERSION)
        return self._groups.ask(
            call,
            request.group_id,
            lambda shard, asked: shard.membership.consumer_heartbeat(asked, request),
            _refusal,
        )


def _refusal(code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code)
