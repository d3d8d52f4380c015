"""Several listeners: each tells its clients where they reach the node."""

import asyncio
from pathlib import Path

from odradek.server.node import Node
from odradek.server.node_setting import Listening, NodeSetting
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.raw_client import RawClient


async def told_at(address: tuple[str, int]) -> tuple[str, int]:
    client = await RawClient.connect(*address)
    try:
        (broker,) = (await client.ask(MetadataRequest(topics=()), MetadataResponse, 9)).brokers
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)
        (same,) = (await client.ask(request, DescribeClusterResponse, 1)).brokers
        assert (same.host, same.port) == (broker.host, broker.port)
        return broker.host, broker.port
    finally:
        await client.close()


def test_each_listener_tells_its_own_address(tmp_path: Path) -> None:
    listeners = (
        Listening("127.0.0.1", 0, ("here.example", 1)),
        Listening("127.0.0.1", 0, ("broker.example", 19092), "EXTERNAL"),
        Listening("127.0.0.1", 0, None, "INTERNAL"),
    )

    async def main() -> None:
        node = await Node.start(NodeSetting(directories=[str(tmp_path)], listeners=listeners))
        try:
            async with asyncio.timeout(30):
                assert [await told_at(each) for each in node.addresses] == [
                    ("here.example", 1),
                    ("broker.example", 19092),
                    node.addresses[2],
                ]
        finally:
            await node.stop()

    asyncio.run(main())
