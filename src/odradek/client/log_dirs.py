"""What brokers have on disk."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.brokers import ask_brokers
from odradek.client.client import Client
from odradek.client.errors import ClientError, Refused, refusal
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


class Replica(NamedTuple):
    node_id: int
    partition: TopicPartition
    log_dir: str
    size: int
    is_future: bool = False
    """Whether it is a copy in the making, which will take the place of the one in another directory."""
    lag: int = 0
    """How many offsets a copy is behind."""


@dataclass(frozen=True, slots=True)
class LogDirView:
    node_id: int
    path: str
    replicas: tuple[Replica, ...]
    total: int | None
    """Bytes of the disk; None where the broker is too old to say."""
    usable: int | None
    error: Refused | None = None


async def list_replicas(client: Client, topics: Mapping[str, Iterable[int]], nodes: Iterable[int]) -> list[Replica]:
    """What these nodes have of these partitions. A node that does not answer is left out."""
    wanted = {name: tuple(which) for name, which in topics.items()}

    async def ask(node_id: int) -> list[LogDirView]:
        try:
            return await _describe(client, node_id, wanted)
        except ClientError:
            return []

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(node_id), name=f"replicas-{node_id}") for node_id in nodes]
    views = [view for each in asked for view in each.result()]
    return [replica for view in views for replica in view.replicas if not replica.is_future]


async def describe_log_dirs(client: Client) -> list[LogDirView]:
    """All directories of all brokers, with all that is in them. Raises where a broker does not answer."""

    async def ask(node_id: int) -> list[LogDirView]:
        return await _describe(client, node_id, None)

    return [view for views in (await ask_brokers(client, ask)).values() for view in views]


async def _describe(client: Client, node_id: int, topics: Mapping[str, tuple[int, ...]] | None) -> list[LogDirView]:
    wanted = None
    if topics is not None:
        wanted = tuple(DescribableLogDirTopic(topic=name, partitions=which) for name, which in topics.items())
    response = await client.ask_node(node_id, DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse)
    if response.error_code:
        raise Refused(response.error_code)
    return [_view(node_id, each) for each in response.results]


def _view(node_id: int, result: DescribeLogDirsResult) -> LogDirView:
    replicas = tuple(
        Replica(
            node_id,
            TopicPartition(topic.name, each.partition_index),
            result.log_dir,
            each.partition_size,
            each.is_future_key,
            each.offset_lag,
        )
        for topic in result.topics
        for each in topic.partitions
    )
    total, usable = (None if each < 0 else each for each in (result.total_bytes, result.usable_bytes))
    return LogDirView(node_id, result.log_dir, replicas, total, usable, refusal(result.error_code))
