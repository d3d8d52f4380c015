"""DescribeGroups, versions 0 to 6. It tells of classic groups only: to it the others are not there."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.operations import GROUP_OPERATIONS, NOT_ASKED
from odradek.model.errors import BrokerError
from odradek.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

VERSIONS = (0, 6)


class DescribeGroups:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED
        described = tuple(self._describe(call, group_id, operations) for group_id in request.groups)
        return DescribeGroupsResponse(groups=described)

    def _describe(self, call: Call, group_id: str, operations: int) -> DescribedGroup:
        try:
            return self._groups.shard_of(group_id).classic.describe(group_id, call.version, operations)
        except BrokerError as error:
            return DescribedGroup(
                error_code=error.code, group_id=group_id, group_state="", protocol_type="", protocol_data="", members=()
            )
