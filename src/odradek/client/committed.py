"""The offsets that groups have committed: fetched, changed by somebody who is no member, and forgotten."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.cluster import Coordinator
from odradek.client.coordinators import ask_coordinators
from odradek.client.errors import ClientError, Refused, refusal
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_LEADER_EPOCH, LeaderEpoch, Offset
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse

_NAMED_MAX = 9
"""Later versions have the ids of topics in place of their names, and no way to name a topic that was deleted."""

_MOVED = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)


class Committed(NamedTuple):
    offset: Offset
    """Of the record to read next."""
    metadata: str = ""
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH


Fetched = dict[TopicPartition, Committed | Refused]
Outcomes = dict[TopicPartition, ClientError | None]


async def fetch_committed(client: Client, group_ids: Sequence[str]) -> dict[str, Fetched | ClientError]:
    """All that these groups have committed, in the order of topics and partitions; nothing for one that is not there.

    What a transaction has committed is there once the transaction is.
    """

    async def ask(coordinator: Coordinator, some: Sequence[str]) -> Mapping[str, Fetched | ClientError]:
        groups = tuple(OffsetFetchRequestGroup(group_id=each, topics=None) for each in some)
        request = OffsetFetchRequest(groups=groups)
        response = await client.ask_node(coordinator.node_id, request, OffsetFetchResponse, _NAMED_MAX)
        found: dict[str, Fetched | ClientError] = {}
        for group in response.groups:
            fetched: Fetched = {
                TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
                or Committed(
                    Offset(each.committed_offset), each.metadata or "", LeaderEpoch(each.committed_leader_epoch)
                )
                for topic in group.topics
                for each in topic.partitions
                if each.committed_offset >= 0 or each.error_code
            }
            found[group.group_id] = refusal(group.error_code) or dict(sorted(fetched.items()))
        return found

    return await ask_coordinators(client, group_ids, ask)


async def commit_offsets(client: Client, group_id: str, offsets: Mapping[TopicPartition, Committed]) -> Outcomes:
    """Commits as one who is no member. A group that has members refuses it with UNKNOWN_MEMBER_ID."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), (offset, metadata, epoch) in offsets.items():
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=offset,
                committed_leader_epoch=epoch,
                committed_metadata=metadata,
            )
        )
    request = OffsetCommitRequest(
        group_id=group_id,
        member_id="",
        topics=tuple(OffsetCommitRequestTopic(name=name, partitions=tuple(which)) for name, which in topics.items()),
    )

    async def send(node_id: int) -> Outcomes:
        response = await client.ask_node(node_id, request, OffsetCommitResponse, _NAMED_MAX)
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }

    return await _change(client, group_id, offsets, send)


async def delete_committed(client: Client, group_id: str, partitions: Collection[TopicPartition]) -> Outcomes:
    """Topics that a member subscribes to are refused with GROUP_SUBSCRIBED_TO_TOPIC."""
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=partition))
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=tuple(OffsetDeleteRequestTopic(name=name, partitions=tuple(which)) for name, which in topics.items()),
    )

    async def send(node_id: int) -> Outcomes:
        response = await client.ask_node(node_id, request, OffsetDeleteResponse)
        if response.error_code:
            raise Refused(response.error_code)
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }

    return await _change(client, group_id, partitions, send)


async def _change(
    client: Client, group_id: str, partitions: Collection[TopicPartition], send: Callable[[int], Awaitable[Outcomes]]
) -> Outcomes:
    """The outcome of each partition; what holds for the group as a whole is that of all of them."""

    async def ask(coordinator: Coordinator, _: Sequence[str]) -> Mapping[str, Outcomes | ClientError]:
        outcomes = await send(coordinator.node_id)
        for outcome in outcomes.values():
            if isinstance(outcome, Refused) and outcome.code in _MOVED:
                raise outcome  # of all partitions, and may work elsewhere or later
        return {group_id: outcomes}

    outcome = (await ask_coordinators(client, [group_id], ask))[group_id]
    return dict.fromkeys(partitions, outcome) if isinstance(outcome, ClientError) else outcome
