"""How many records there are: no request says that, since compaction and transactions leave offsets without one."""

import asyncio
from collections.abc import Mapping

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import ClientError, Refused
from odradek.client.fetching import fetch_batches
from odradek.client.lag import Extent
from odradek.client.leaders import ask_leaders
from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import HEAD_SIZE, parse_head
from odradek.records.record import read_records

_FETCH_BYTES = 8 << 20
_AT_ONCE_MAX = 4
"""Each has an answer of some megabytes."""


async def count_records(
    client: Client, logs: Mapping[TopicPartition, Extent]
) -> dict[TopicPartition, int | ClientError]:
    """Of each partition, from its start to its end, all of which is read.

    Markers of transactions do not count, records of aborted ones do.
    """
    slots = asyncio.Semaphore(_AT_ONCE_MAX)

    async def count(leader: int, partition: TopicPartition) -> int | ClientError:
        async with slots:
            try:
                return await _count(client, leader, partition, logs[partition])
            except ClientError as error:
                return error

    async def ask(
        leader: int, led: Mapping[TopicPartition, PartitionView]
    ) -> Mapping[TopicPartition, int | ClientError]:
        async with asyncio.TaskGroup() as tasks:
            counts = {each: tasks.create_task(count(leader, each), name=f"count-{each}") for each in led}
        return {each: task.result() for each, task in counts.items()}

    return await ask_leaders(client, list(logs), ask)


async def _count(client: Client, leader: int, partition: TopicPartition, log: Extent) -> int:
    start, end = log.start or Offset(0), log.end or Offset(0)
    counted, at = 0, start
    while at < end:
        batches = await fetch_batches(client, leader, partition, at, _FETCH_BYTES)
        try:
            more, at_next = _count_in(batches, start, end)
        except CorruptBatch as error:
            raise Refused(error.code, str(error)) from None
        counted += more
        if at_next is None:
            break  # what is left holds no batch any more
        at = at_next
    return counted


def _count_in(batches: memoryview, start: Offset, end: Offset) -> tuple[int, Offset | None]:
    """Records of whole batches from `start` to `end`, and the offset behind them; None if there is no batch."""
    counted, at = 0, None
    while len(batches) >= HEAD_SIZE:
        head = parse_head(batches)
        if head.size > len(batches) or head.base_offset >= end:
            break
        if not head.is_control:
            is_whole = head.base_offset >= start
            counted += head.count if is_whole else _count_from(start, batches[: head.size])
        at = head.next_offset
        batches = batches[head.size :]
    return counted, at


def _count_from(start: Offset, batch: memoryview) -> int:
    """The log may begin within a batch: records before that are deleted."""
    return sum(record.offset >= start for record in read_records(batch, parse_head(batch)))
