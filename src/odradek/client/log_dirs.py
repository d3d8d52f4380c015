"""What brokers have on disk."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.errors import ClientError
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


class Replica(NamedTuple):
    node_id: int
    partition: TopicPartition
    log_dir: str
    size: int


async def list_replicas(client: Client, topics: Mapping[str, Iterable[int]], nodes: Iterable[int]) -> list[Replica]:
    """What these nodes have of these partitions. A node that does not answer is left out."""
    wanted = tuple(DescribableLogDirTopic(topic=name, partitions=tuple(which)) for name, which in topics.items())
    request = DescribeLogDirsRequest(topics=wanted)

    async def ask(node_id: int) -> list[Replica]:
        try:
            response = await client.ask_node(node_id, request, DescribeLogDirsResponse)
        except ClientError:
            return []
        return [
            Replica(node_id, TopicPartition(topic.name, each.partition_index), result.log_dir, each.partition_size)
            for result in response.results
            for topic in result.topics
            for each in topic.partitions
            if not each.is_future_key
        ]

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(node_id), name=f"replicas-{node_id}") for node_id in nodes]
    return [replica for each in asked for replica in each.result()]
