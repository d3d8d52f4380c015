"""A bug in what follows a handler: it concerns one request, and neither the node nor the requests of others."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.handlers import fetch
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce


def fail(*_: object, **__: object) -> None:
    raise ValueError("a bug")


def waiting_fetch() -> FetchRequest:
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = (FetchTopic(topic="orders", partitions=(part,)),)
    return FetchRequest(max_wait_ms=60_000, min_bytes=1, session_epoch=-1, topics=topics)


async def is_served(client: RawClient) -> bool:
    return bool((await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)).brokers)


@pytest.mark.parametrize("version", [4, 12])
def test_a_fetch_that_waited(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            reader = await client.another()
            reader.send(waiting_fetch(), version)
            assert await is_served(client)  # so the fetch, which came before, was read
            monkeypatch.setattr(fetch, "_partition_data", fail)
            await produce(client, "orders", "a")
            if version < 7:  # without a place for an error of the whole request
                assert await reader.is_cut_off()
            else:
                response = await reader.receive(FetchResponse, version)
                assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
                assert await is_served(reader)  # what is behind it on the connection
            assert await is_served(client)
            await reader.close()

    asyncio.run(main())
    assert "a request failed in a way that nobody expected" in caplog.text
