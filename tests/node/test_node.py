"""A whole node in this process: formatted, started, stopped, started again, and on directories of Apache Kafka."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.errors import DirectoryInUse, InvalidConfig
from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from support.raw_client import RawClient


@asynccontextmanager
async def node_on(*directories: Path, **settings: Any) -> AsyncIterator[RawClient]:
    node = await Node.start(NodeSetting(directories=list(map(str, directories)), port=0, **settings))
    client = await RawClient.connect(*node.address)
    try:
        async with asyncio.timeout(60):
            yield client
    finally:
        await client.close()
        await node.stop()


async def create(client: RawClient, name: str, partitions: int = 1) -> int:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
    response = await client.ask(CreateTopicsRequest(topics=(topic,)), CreateTopicsResponse, 7)
    return response.topics[0].error_code


async def produce(client: RawClient, topic: str, *values: str) -> int:
    records = [Record(Offset(n), NO_TIMESTAMP, None, value.encode()) for n, value in enumerate(values)]
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=build_batch(records)),))
    response = await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(data,)), ProduceResponse, 9)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NONE, answer
    return answer.base_offset


async def end_of(client: RawClient, topic: str) -> int:
    part = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(part,)),))
    return (await client.ask(request, ListOffsetsResponse, 7)).topics[0].partitions[0].offset


async def topics_of(client: RawClient) -> dict[str, int]:
    response = await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
    return {topic.name or "": len(topic.partitions) for topic in response.topics}


def test_what_was_there_is_there_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path / "a", tmp_path / "b") as client:
            assert await create(client, "orders", 3) == ErrorCode.NONE
            assert await create(client, "orders") == ErrorCode.TOPIC_ALREADY_EXISTS
            assert await produce(client, "orders", "a", "b") == 0
        async with node_on(tmp_path / "a", tmp_path / "b") as client:
            assert await topics_of(client) == {"orders": 3}
            assert await produce(client, "orders", "c") == 2
            assert await end_of(client, "orders") == 3

    asyncio.run(main())
    assert (tmp_path / "a" / ".kafka_cleanshutdown").exists()


def test_a_deleted_topic_is_gone_and_its_name_free(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create(client, "orders")
            await produce(client, "orders", "old")
            request = DeleteTopicsRequest(topic_names=("orders", "nothing"), timeout_ms=1000)
            response = await client.ask(request, DeleteTopicsResponse, 5)
            codes = {each.name: each.error_code for each in response.responses}
            assert codes == {"orders": ErrorCode.NONE, "nothing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            assert await topics_of(client) == {}
            assert await create(client, "orders") == ErrorCode.NONE
            assert await produce(client, "orders", "new") == 0

    asyncio.run(main())


def test_no_producer_id_is_given_twice(tmp_path: Path) -> None:
    async def take(client: RawClient) -> int:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        return (await client.ask(request, InitProducerIdResponse, 4)).producer_id

    async def main() -> list[int]:
        taken = []
        for _ in range(2):
            async with node_on(tmp_path) as client:
                taken += [await take(client) for _ in range(3)]
        return taken

    taken = asyncio.run(main())
    assert len(set(taken)) == len(taken) == 6


def test_the_second_node_on_a_directory_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path):
            with pytest.raises(DirectoryInUse, match="held by"):
                await Node.start(NodeSetting(directories=[str(tmp_path)], port=0))

    asyncio.run(main())


@pytest.mark.parametrize("state", ["clean", "crashed"])
def test_a_directory_of_apache_kafka_is_taken_over(
    golden_data: Path, golden_expected: Any, tmp_path: Path, state: str
) -> None:
    shutil.copytree(golden_data / state, tmp_path / "data")
    directories = (tmp_path / "data" / "d1", tmp_path / "data" / "d2")

    async def main() -> None:
        with pytest.raises(InvalidConfig, match="ACLs"):
            await Node.start(NodeSetting(directories=list(map(str, directories)), port=0))
        async with node_on(*directories, ignore_acls=True) as client:
            names = {name.rpartition("-")[0] for name in golden_expected["topics"]}
            assert names <= set(await topics_of(client))
            for name in names:
                assert await end_of(client, name) == golden_expected["topics"][f"{name}-0"]["high_watermark"]
            end = golden_expected["topics"]["plain-0"]["high_watermark"]
            assert await produce(client, "plain", "ours") == end
        async with node_on(*directories, ignore_acls=True) as client:
            assert await end_of(client, "plain") == end + 1

    asyncio.run(main())
