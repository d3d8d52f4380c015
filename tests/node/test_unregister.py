"""A broker that is unregistered while it runs leads nothing, stops in order, and is back when it starts again."""

import asyncio
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce


async def unregister(client: RawClient, broker_id: int) -> int:
    request = UnregisterBrokerRequest(broker_id=broker_id)
    return (await client.ask(request, UnregisterBrokerResponse, 0)).error_code


async def nodes(client: RawClient) -> list[tuple[int, ...]]:
    """The brokers that clients are told of, in two ways."""
    told = await client.ask(MetadataRequest(topics=()), MetadataResponse, 12)
    described = await client.ask(
        DescribeClusterRequest(include_cluster_authorized_operations=False), DescribeClusterResponse, 1
    )
    return [tuple(each.node_id for each in told.brokers), tuple(each.broker_id for each in described.brokers)]


def test_who_is_not_there_cannot_be_unregistered(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            for nobody in (2, 0, -1):
                assert await unregister(client, nobody) == ErrorCode.BROKER_ID_NOT_REGISTERED

    asyncio.run(main())


def test_the_node_itself(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            assert (await produce(client, "orders", "kept")).error_code == ErrorCode.NONE
            assert await unregister(client, 1) == ErrorCode.NONE
            assert (await produce(client, "orders", "x")).error_code != ErrorCode.NONE
            assert await create_topic(client, "more") == ErrorCode.INVALID_REPLICATION_FACTOR
            assert await unregister(client, 1) == ErrorCode.BROKER_ID_NOT_REGISTERED
            assert await nodes(client) == [(), ()]
        async with node_on(tmp_path) as client:
            assert (await produce(client, "orders", "more")).base_offset == 1
            assert await nodes(client) == [(1,), (1,)]
            assert await create_topic(client, "more") == ErrorCode.NONE

    asyncio.run(main())
