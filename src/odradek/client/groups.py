"""Groups of consumers: listed, described, deleted."""

from collections.abc import Mapping, Sequence

from odradek.client.brokers import ask_brokers
from odradek.client.client import Client
from odradek.client.cluster import Coordinator
from odradek.client.coordinators import ask_coordinators
from odradek.client.errors import ClientError, NotServed, Refused, refusal
from odradek.client.group_views import GroupView, ListedGroup, read_classic, read_modern
from odradek.model.error_code import ErrorCode
from odradek.wire.messages import list_groups as list_groups_message
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from odradek.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from odradek.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

DEAD = "Dead"

_ELSEWHERE = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
"""What is no consumer group may be a classic one."""

Described = dict[str, GroupView | ClientError]


async def list_groups(client: Client, states: Sequence[str] = (), kinds: Sequence[str] = ()) -> list[ListedGroup]:
    """All groups of all brokers that are in one of the states and of one of the kinds, in the order of their ids.

    Raises what keeps a broker from answering: a list that lacks groups would look like one that is whole.
    """
    request = ListGroupsRequest(states_filter=tuple(states), types_filter=tuple(kinds))

    async def ask(node_id: int) -> ListGroupsResponse:
        response = await client.ask_node(node_id, request, ListGroupsResponse)
        if response.error_code:
            raise Refused(response.error_code)
        return response

    found: dict[str, ListedGroup] = {}  # by their ids: a group that moves meanwhile is told of twice
    for response in (await ask_brokers(client, ask)).values():
        found |= {each.group_id: _listed(each) for each in response.groups}
    return [found[group_id] for group_id in sorted(found)]


def _listed(group: list_groups_message.ListedGroup) -> ListedGroup:
    return ListedGroup(group.group_id, group.group_type.lower() or None, group.group_state, group.protocol_type)


async def describe_groups(client: Client, group_ids: Sequence[str]) -> Described:
    """Classic groups and consumer groups; a group that is not there is refused with GROUP_ID_NOT_FOUND."""

    async def ask(coordinator: Coordinator, some: Sequence[str]) -> Described:
        found = await _describe_modern(client, coordinator, some)
        rest = [each for each in some if each not in found]
        return found | await _describe_classic(client, coordinator, rest) if rest else found

    return await ask_coordinators(client, group_ids, ask)


async def _describe_modern(client: Client, coordinator: Coordinator, group_ids: Sequence[str]) -> Described:
    """Without those that are no consumer groups."""
    request = ConsumerGroupDescribeRequest(group_ids=tuple(group_ids), include_authorized_operations=False)
    try:
        response = await client.ask_node(coordinator.node_id, request, ConsumerGroupDescribeResponse)
    except NotServed:
        return {}
    return {
        each.group_id: refusal(each.error_code, each.error_message) or read_modern(each, coordinator)
        for each in response.groups
        if each.error_code not in _ELSEWHERE
    }


async def _describe_classic(client: Client, coordinator: Coordinator, group_ids: Sequence[str]) -> Described:
    request = DescribeGroupsRequest(groups=tuple(group_ids))
    response = await client.ask_node(coordinator.node_id, request, DescribeGroupsResponse)
    found: Described = {}
    for each in response.groups:
        # Before version 6 there is no error for it.
        code = ErrorCode.GROUP_ID_NOT_FOUND if each.group_state == DEAD and not each.error_code else each.error_code
        found[each.group_id] = refusal(code, each.error_message) or read_classic(each, coordinator)
    return found


async def delete_groups(client: Client, group_ids: Sequence[str]) -> dict[str, ClientError | None]:
    """With all their offsets. A group that has members is refused with NON_EMPTY_GROUP."""

    async def ask(coordinator: Coordinator, some: Sequence[str]) -> Mapping[str, ClientError | None]:
        request = DeleteGroupsRequest(groups_names=tuple(some))
        response = await client.ask_node(coordinator.node_id, request, DeleteGroupsResponse)
        return {each.group_id: refusal(each.error_code) for each in response.results}

    return await ask_coordinators(client, group_ids, ask)
