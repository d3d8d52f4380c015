"""A node in this process, and what tests ask of it again and again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.process.machine import Machine
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from support.raw_client import RawClient


@asynccontextmanager
async def node_on(*directories: Path, machine: Machine | None = None, **settings: Any) -> AsyncIterator[RawClient]:
    """A client of a node that is stopped in the end."""
    setting = NodeSetting(directories=list(map(str, directories)), port=0, **settings)
    node = await Node.start(setting, machine or Machine())
    client = await RawClient.connect(*node.address)
    try:
        async with asyncio.timeout(60):
            yield client
    finally:
        await client.close()
        await node.stop()


async def create_topic(client: RawClient, name: str, partitions: int = 1, **configs: str) -> int:
    """Settings with underscores for the dots; returns the code of the answer."""
    given = tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=given)
    response = await client.ask(CreateTopicsRequest(topics=(topic,)), CreateTopicsResponse, 7)
    return response.topics[0].error_code


async def produce(
    client: RawClient, topic: str, *values: str, partition: int = 0, spec: BatchSpec | None = None
) -> PartitionProduceResponse:
    records = [Record(Offset(n), NO_TIMESTAMP, b"k", value.encode()) for n, value in enumerate(values)]
    batch = build_batch(records, spec or BatchSpec())
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=batch),))
    response = await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(data,)), ProduceResponse, 9)
    return response.responses[0].partition_responses[0]
