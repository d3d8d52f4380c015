"""Metadata of topics that are not there: made on demand, refused, or unknown."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from support.raw_client import RawClient
from support.running_node import create_topic, node_on

ALL_TOPIC_OPERATIONS, ALL_CLUSTER_OPERATIONS, NOT_ASKED = 3576, 8096, -(1 << 31)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def ask(
    client: RawClient, *names: str, version: int = 12, create: bool = True
) -> Mapping[str | None, MetadataResponseTopic]:
    topics = tuple(MetadataRequestTopic(name=name) for name in names)
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=create)
    response = await client.ask(request, MetadataResponse, version)
    assert response.controller_id == 1
    return {topic.name: topic for topic in response.topics}


async def ask_until_there(client: RawClient, name: str) -> MetadataResponseTopic:
    while True:
        found = (await ask(client, name))[name]
        if found.error_code != UNKNOWN:
            return found


def test_a_topic_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, partitions=3) as client:
            assert (await ask(client, "orders"))["orders"].error_code == UNKNOWN  # not yet
            found = await ask_until_there(client, "orders")
            assert (found.error_code, len(found.partitions)) == (ErrorCode.NONE, 3)
            assert len(await ask(client, "orders", "orders")) == 1

    asyncio.run(main())


def test_a_topic_is_not_made_where_that_is_not_wanted(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path / "a") as client:
            for _ in range(3):
                assert (await ask(client, "orders", create=False))["orders"].error_code == UNKNOWN
                assert (await ask(client, "__consumer_offsets"))["__consumer_offsets"].is_internal
            assert (await ask(client, "later", create=True))["later"].error_code == UNKNOWN
            await ask_until_there(client, "later")
            response = await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
            assert [topic.name for topic in response.topics] == ["later"]
        config = BrokerConfig(auto_create_topics_enable=False)
        async with node_on(tmp_path / "b", config=config) as client:
            for _ in range(3):
                assert (await ask(client, "orders"))["orders"].error_code == UNKNOWN

    asyncio.run(main())


def test_names_that_no_topic_can_have(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            for create in (True, False):
                found = await ask(client, "a b", "", ".", "x" * 250, create=create)
                assert {each.error_code for each in found.values()} == {ErrorCode.INVALID_TOPIC_EXCEPTION}

    asyncio.run(main())


def test_what_clients_may_do_is_told_when_they_ask(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            request = MetadataRequest(
                topics=None, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
            )
            response = await client.ask(request, MetadataResponse, 8)
            assert response.cluster_authorized_operations == ALL_CLUSTER_OPERATIONS
            assert response.topics[0].topic_authorized_operations == ALL_TOPIC_OPERATIONS
            response = await client.ask(MetadataRequest(topics=None), MetadataResponse, 8)
            assert response.cluster_authorized_operations == NOT_ASKED
            assert response.topics[0].topic_authorized_operations == NOT_ASKED

    asyncio.run(main())


def test_topics_by_id(tmp_path: Path) -> None:
    async def by_id(client: RawClient, topic_id: bytes, version: int = 12) -> MetadataResponseTopic:
        asked = MetadataRequestTopic(name=None, topic_id=topic_id)
        return (await client.ask(MetadataRequest(topics=(asked,)), MetadataResponse, version)).topics[0]

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            known = (await ask(client, "orders"))["orders"].topic_id
            assert (await by_id(client, known)).name == "orders"
            unknown = await by_id(client, b"x" * 16)
            assert (unknown.error_code, unknown.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)
            assert (await by_id(client, known, version=10)).error_code == ErrorCode.INVALID_REQUEST

    asyncio.run(main())
