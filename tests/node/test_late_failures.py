"""A bug in what follows a handler: it concerns one request, and neither the node nor the requests of others."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.handlers import fetch
from odradek.controller import topics
from odradek.model.error_code import ErrorCode
from odradek.model.errors import StorageFailed
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.storage.cleaning.cleaner import Cleaner
from odradek.storage.log import Log
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.schema import replace
from support.failures import collected
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce


def fail(*_: object, **__: object) -> None:
    raise ValueError("a bug")


async def fail_later(*_: object) -> None:
    await asyncio.sleep(0)
    fail()


def waiting_fetch() -> FetchRequest:
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    asked = (FetchTopic(topic="orders", partitions=(part,)),)
    return FetchRequest(max_wait_ms=60_000, min_bytes=1, session_epoch=-1, topics=asked)


async def is_served(client: RawClient) -> bool:
    return bool((await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)).brokers)


@pytest.mark.parametrize("version", [4, 12])
def test_a_fetch_that_waited(tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
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

    with collected() as lines:
        asyncio.run(main())
    (line,) = lines
    assert line.startswith("a request failed in a way that nobody expected")


def test_a_disk_that_fails_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of aborted transactions is read when the answer is made; its partition alone hears of it."""

    def fail_to_read(*_: object) -> None:
        raise StorageFailed("the index cannot be read")

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            await produce(client, "orders", "a")
            monkeypatch.setattr(Log, "aborted_in", fail_to_read)
            response = await client.ask(replace(waiting_fetch(), isolation_level=1), FetchResponse, 12)
            (part,) = response.responses[0].partitions
            assert (response.error_code, part.error_code) == (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)

    asyncio.run(main())


def test_a_topic_that_is_made_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            monkeypatch.setattr(topics, "create", fail)
            wanted = (MetadataRequestTopic(name="orders"),)
            asked = MetadataRequest(topics=wanted, allow_auto_topic_creation=True)
            response = await client.ask(asked, MetadataResponse, 12)
            assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await is_served(client)
            monkeypatch.undo()
            while response.topics[0].error_code:  # it is not taken for one that is being made
                response = await client.ask(asked, MetadataResponse, 12)

    with collected() as lines:
        asyncio.run(main())
    (line,) = lines
    assert line.startswith("a request failed in a way that nobody expected")


def test_a_task_that_the_node_cannot_live_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cleaner, "run", fail_later)

    async def main() -> None:
        failed = asyncio.Event()
        node = await Node.start(NodeSetting(directories=[str(tmp_path)], port=0), when_failed=failed.set)
        await failed.wait()
        assert node.failure == "task cleaner failed: ValueError: a bug"
        await node.stop()

    with collected() as lines:
        asyncio.run(main())
    (line,) = lines
    assert line.startswith("a task failed in a way that nobody expected")
    assert (tmp_path / ".kafka_cleanshutdown").exists()
