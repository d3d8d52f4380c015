"""Offsets of partitions, asked of those who lead them."""

import asyncio
from collections.abc import Mapping

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import ClientError, Refused, refusal
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST = TimestampMs(-1)
"""In place of a time: the offset behind the last record that a consumer may read."""
EARLIEST = TimestampMs(-2)
"""In place of a time: the offset of the first record."""

_CONSUMER = -1

Offsets = dict[TopicPartition, Offset | ClientError]


async def list_offsets(client: Client, wanted: Mapping[TopicPartition, TimestampMs]) -> Offsets:
    """For each partition the offset of the first record at or after a time; -1 where no record is that late.

    Partitions whose leader cannot say are asked for again, until the time for it is up: then they have the error.
    """
    found: Offsets = {}

    async def attempt() -> None:
        missing = {each: at for each, at in wanted.items() if not isinstance(found.get(each), int)}
        found.update(await _ask_leaders(client, missing))
        for outcome in found.values():
            if isinstance(outcome, ClientError) and outcome.is_passing:
                raise outcome

    try:
        await client.persist(attempt)
    except ClientError:
        if found.keys() != wanted.keys():
            raise
    return {each: found[each] for each in wanted}


async def _ask_leaders(client: Client, wanted: Mapping[TopicPartition, TimestampMs]) -> Offsets:
    view = await client.look_up({each.topic for each in wanted})
    led = {
        TopicPartition(name, each.partition): each for name, topic in view.topics.items() for each in topic.partitions
    }
    found: Offsets = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    for partition in wanted:
        if partition not in led:
            found[partition] = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif led[partition].leader < 0:
            found[partition] = Refused(ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            by_leader.setdefault(led[partition].leader, []).append(partition)

    async def ask(leader: int, partitions: list[TopicPartition]) -> Offsets:
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            topics=_topics({each: (led[each], wanted[each]) for each in partitions}),
            timeout_ms=int(client.setting.request_timeout_s * 1000),
        )
        try:
            return _read(await client.ask_node(leader, request, ListOffsetsResponse))
        except ClientError as error:
            return dict.fromkeys(partitions, error)

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(node, mine), name=f"offsets-{node}") for node, mine in by_leader.items()]
    for each in asked:
        found |= each.result()
    return found


def _topics(asked: Mapping[TopicPartition, tuple[PartitionView, TimestampMs]]) -> tuple[ListOffsetsTopic, ...]:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, partition), (view, at) in asked.items():
        topics.setdefault(topic, []).append(
            ListOffsetsPartition(partition_index=partition, current_leader_epoch=view.leader_epoch, timestamp=at)
        )
    return tuple(ListOffsetsTopic(name=name, partitions=tuple(which)) for name, which in topics.items())


def _read(response: ListOffsetsResponse) -> Offsets:
    return {
        TopicPartition(topic.name, each.partition_index): refusal(each.error_code) or Offset(each.offset)
        for topic in response.topics
        for each in topic.partitions
    }
