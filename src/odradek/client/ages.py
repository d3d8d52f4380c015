"""Times of single records, read from the records themselves: no request gives the time of an offset."""

import asyncio
from collections.abc import Mapping
from functools import partial

from odradek.client.client import Client
from odradek.client.errors import ClientError
from odradek.client.fetching import fetch_batches
from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import parse_head
from odradek.records.record import read_records

_AT_ONCE_MAX = 20
"""Each answer has a whole batch, which may be of a megabyte or more."""
_BATCHES_MAX = 100
"""Batches without a record at or behind the offset: what compaction and transactions leave."""


async def record_times(
    client: Client, offsets: Mapping[TopicPartition, Offset]
) -> dict[TopicPartition, TimestampMs | None]:
    """The time of the first record at or behind an offset; None where there is none, or where nobody can say."""
    view = await client.persist(partial(client.look_up, sorted({each.topic for each in offsets})))
    leaders = {
        TopicPartition(name, each.partition): each.leader
        for name, topic in view.topics.items()
        for each in topic.partitions
        if each.leader >= 0
    }
    slots = asyncio.Semaphore(_AT_ONCE_MAX)

    async def read(partition: TopicPartition, offset: Offset) -> TimestampMs | None:
        async with slots:
            try:
                return await _time_at(client, leaders[partition], partition, offset)
            except (ClientError, CorruptBatch, KeyError):
                return None

    async with asyncio.TaskGroup() as tasks:
        asked = {
            partition: tasks.create_task(read(partition, offset), name=f"time-{partition}")
            for partition, offset in offsets.items()
        }
    return {partition: task.result() for partition, task in asked.items()}


async def _time_at(client: Client, leader: int, partition: TopicPartition, offset: Offset) -> TimestampMs | None:
    at = offset
    for _ in range(_BATCHES_MAX):
        batches = await fetch_batches(client, leader, partition, at)
        if not batches:
            return None
        head = parse_head(batches)
        if not head.is_control:
            for record in read_records(batches[: head.size], head):
                if record.offset >= offset:
                    return record.timestamp
        at = head.next_offset
    return None
