"""Log directories that take no new partitions, from the start or from when it is set."""

import asyncio
from pathlib import Path

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages import alter_configs as whole
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

BROKER, SET, DELETE, APPEND, SUBTRACT = 4, 0, 1, 2, 3
NAME = "cordoned.log.dirs"


def config_of(*paths: Path, cordoned: str = "") -> BrokerConfig:
    texts = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": ",".join(map(str, paths)),
    }
    return BrokerConfig.parse({**texts, NAME: cordoned} if cordoned else texts)


async def change(client: RawClient, operation: int, value: str | None, broker: str = "1") -> int:
    configs = (some.AlterableConfig(name=NAME, config_operation=operation, value=value),)
    resource = some.AlterConfigsResource(resource_type=BROKER, resource_name=broker, configs=configs)
    request = some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    return (await client.ask(request, some.IncrementalAlterConfigsResponse, 1)).responses[0].error_code


async def described(client: RawClient) -> dict[str, tuple[bool, int]]:
    """For each directory by its name whether it is cordoned, and how many partitions are in it."""
    answer = await client.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 5)
    return {
        Path(each.log_dir).name: (each.is_cordoned, sum(len(topic.partitions) for topic in each.topics))
        for each in answer.results
    }


def test_new_partitions_go_where_it_is_not_cordoned(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"

    async def main() -> None:
        async with node_on(first, second, config=config_of(first, second)) as client:
            await create_topic(client, "before", 2)
            assert await described(client) == {"first": (False, 1), "second": (False, 1)}
            assert await change(client, SET, str(first)) == ErrorCode.NONE
            await create_topic(client, "after", 3)
            assert await described(client) == {"first": (True, 1), "second": (False, 4)}
            assert (await produce(client, "before", "x")).error_code == ErrorCode.NONE
            assert (await produce(client, "before", "x", partition=1)).error_code == ErrorCode.NONE
        async with node_on(first, second, config=config_of(first, second)) as client:
            assert (await described(client))["first"] == (True, 1), "kept over a restart"
            assert await change(client, DELETE, None) == ErrorCode.NONE
            await create_topic(client, "again", 3)
            assert await described(client) == {"first": (False, 4), "second": (False, 4)}

    asyncio.run(main())


def test_a_node_that_is_cordoned_altogether_takes_no_topic(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"

    async def grow(client: RawClient, count: int) -> int:
        topic = CreatePartitionsTopic(name="orders", count=count, assignments=None)
        request = CreatePartitionsRequest(topics=(topic,), timeout_ms=5_000, validate_only=False)
        return (await client.ask(request, CreatePartitionsResponse, 3)).results[0].error_code

    async def main() -> None:
        async with node_on(first, second, config=config_of(first, second, cordoned=str(second))) as client:
            assert (await described(client))["second"] == (True, 0), "as its file says"
            await create_topic(client, "orders")
            assert await change(client, APPEND, str(first)) == ErrorCode.NONE, "which is all that is set now"
            assert await described(client) == {"first": (True, 1), "second": (False, 0)}
            assert await change(client, SET, "*") == ErrorCode.NONE
            assert await create_topic(client, "more") == ErrorCode.INVALID_REPLICATION_FACTOR
            assert await grow(client, 2) == ErrorCode.INVALID_REPLICATION_FACTOR
            assert (await produce(client, "orders", "x")).error_code == ErrorCode.NONE
            assert await change(client, SET, f"{first},{second}") == ErrorCode.NONE
            assert await change(client, SUBTRACT, str(first)) == ErrorCode.NONE
            assert await grow(client, 2) == ErrorCode.NONE
            assert await described(client) == {"first": (False, 2), "second": (True, 0)}
            resource = whole.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=())
            request = whole.AlterConfigsRequest(resources=(resource,), validate_only=False)
            await client.ask(request, whole.AlterConfigsResponse, 2)
            assert (await described(client))["second"] == (True, 0), "as its file says"

    asyncio.run(main())


def test_what_cannot_be_cordoned(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=config_of(tmp_path)) as client:
            bad = ErrorCode.INVALID_REQUEST
            assert await change(client, SET, "/nowhere") == bad
            assert await change(client, APPEND, "/nowhere") == bad
            assert await change(client, SET, f"*,{tmp_path}") == bad
            assert await change(client, SET, str(tmp_path), broker="") == bad
            assert (await described(client)) == {tmp_path.name: (False, 0)}

    asyncio.run(main())
