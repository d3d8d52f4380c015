"""A part of the node that fails to act on committed metadata: the node ends, and says nothing was done."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.partitions.replicas import Replicas
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.error_code import ErrorCode
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from support.raw_client import RawClient
from support.running_node import create_topic


def test_a_listener_that_raises_ends_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_is = Replicas.change

    def change(self: Replicas, delta: Delta, image: Image) -> None:
        if any(topic.name == "poisoned" for topic in delta.topics.created):
            raise ValueError("this one cannot be led")
        as_it_is(self, delta, image)

    monkeypatch.setattr(Replicas, "change", change)

    async def main() -> None:
        failed = asyncio.Event()
        node = await Node.start(NodeSetting(directories=[str(tmp_path / "data")], port=0), when_failed=failed.set)
        client = await RawClient.connect(*node.address)
        try:
            async with asyncio.timeout(30):
                assert await create_topic(client, "poisoned") == ErrorCode.UNKNOWN_SERVER_ERROR
                await failed.wait()
                failure = node.failure or ""
                assert failure.startswith("metadata listener replicas failed at offset ")
                assert failure.endswith(": this one cannot be led")
                assert await create_topic(client, "after") == ErrorCode.UNKNOWN_SERVER_ERROR
        finally:
            await client.close()
            await node.stop()

    asyncio.run(main())
