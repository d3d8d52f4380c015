"""Offsets of partitions, asked of those who lead them."""

from collections.abc import Mapping

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import ClientError, refusal
from odradek.client.leaders import ask_leaders
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
MAX_TIMESTAMP = TimestampMs(-3)
"""In place of a time: the offset of the first record that has the latest time of all."""

_CONSUMER = -1

Offsets = dict[TopicPartition, Offset | ClientError]


async def list_offsets(
    client: Client, wanted: Mapping[TopicPartition, TimestampMs], *, read_committed: bool = False
) -> Offsets:
    """For each partition the offset of the first record at or after a time; -1 where no record is that late.

    Partitions whose leader cannot say are asked for again, until the time for it is up: then they have the error.
    """

    async def ask(leader: int, led: Mapping[TopicPartition, PartitionView]) -> Offsets:
        asked = {each: (view, wanted[each]) for each, view in led.items()}
        return await list_led_offsets(client, leader, asked, read_committed=read_committed)

    return await ask_leaders(client, wanted, ask)


async def list_led_offsets(
    client: Client,
    leader: int,
    wanted: Mapping[TopicPartition, tuple[PartitionView, TimestampMs]],
    *,
    read_committed: bool = False,
) -> Offsets:
    """The same of partitions whose leader is known, asked once.

    With `read_committed`, LATEST is where the first open transaction begins.
    """
    request = ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=int(read_committed),
        topics=_topics(wanted),
        timeout_ms=int(client.setting.request_timeout_s * 1000),
    )
    return _read(await client.ask_leader(leader, request, ListOffsetsResponse))


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
