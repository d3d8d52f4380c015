"""ConsumerGroupDescribe, versions 0 and 1. It tells of consumer groups only: to it the others are not there."""

from collections.abc import Callable

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.operations import GROUP_OPERATIONS
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from odradek.wire.schema import replace

VERSIONS = (0, 1)
_TEXT_MAX = 1000


class ConsumerGroupDescribe:
    def __init__(self, groups: Groups, is_enabled: Callable[[], bool]) -> None:
        """`is_enabled`: whether the settings and the cluster's features allow the consumer protocol."""
        self._groups = groups
        self._is_enabled = is_enabled

    def handle(self, call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
        if not self._is_enabled():
            refused = tuple(_refused(group_id, ErrorCode.UNSUPPORTED_VERSION) for group_id in request.group_ids)
            return ConsumerGroupDescribeResponse(groups=refused)
        groups = tuple(map(self._describe, request.group_ids))
        if request.include_authorized_operations:
            groups = tuple(replace(group, authorized_operations=GROUP_OPERATIONS) for group in groups)
        return ConsumerGroupDescribeResponse(groups=groups)

    def _describe(self, group_id: str) -> DescribedGroup:
        if not group_id:
            return _refused(group_id, ErrorCode.INVALID_GROUP_ID)
        try:
            return self._groups.shard_of(group_id).consumer.describe(group_id)
        except BrokerError as error:
            return _refused(group_id, error.code, str(error)[:_TEXT_MAX])


def _refused(group_id: str, code: ErrorCode, text: str | None = None) -> DescribedGroup:
    return DescribedGroup(
        error_code=code,
        error_message=text,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=(),
    )
