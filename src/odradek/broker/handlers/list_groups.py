"""ListGroups, versions 0 to 5: the groups of this node, of all kinds."""

from collections.abc import Iterator

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.coordinators.groups.group import Group
from odradek.model.errors import BrokerError
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

VERSIONS = (0, 5)


class ListGroups:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
        try:
            return ListGroupsResponse(groups=tuple(self._listed(request)))
        except BrokerError as error:
            return ListGroupsResponse(error_code=error.code)

    def _listed(self, request: ListGroupsRequest) -> Iterator[ListedGroup]:
        states = {state.lower().strip() for state in request.states_filter}
        kinds = {kind.lower() for kind in request.types_filter}
        for shard in self._groups.shards():
            for group in shard.groups.values():
                is_wanted = not states or group.state_name.lower() in states
                if is_wanted and (not kinds or group.kind.value in kinds):
                    yield _listed(group)


def _listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        group_state=group.state_name,
        group_type=group.kind.value,
    )
