"""Retention of a running node: settings of a topic, of a broker and of all brokers are in force at the next check."""

import asyncio
from pathlib import Path

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce
from support.waiting import until

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
CONFIG = BrokerConfig.parse(
    {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "log.retention.ms": "-1",
        "log.retention.check.interval.ms": "20",
        "log.segment.delete.delay.ms": "10",
    }
)
KEPT = "kept"
"""A topic whose settings nobody changes."""


async def set_config(client: RawClient, kind: int, name: str, key: str, value: str | None) -> None:
    change = some.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
    resource = some.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(change,))
    request = some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    assert (await client.ask(request, some.IncrementalAlterConfigsResponse, 1)).responses[0].error_code == 0


async def start_of(client: RawClient, topic: str) -> int:
    part = ListOffsetsPartition(partition_index=0, timestamp=-2)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(part,)),))
    return (await client.ask(request, ListOffsetsResponse, 7)).topics[0].partitions[0].offset


async def wait_for_start(client: RawClient, topic: str, offset: int) -> None:
    async with asyncio.timeout(60):
        while await start_of(client, topic) != offset:
            pass


def segments(directory: Path, topic: str) -> list[str]:
    return sorted(path.name for path in (directory / f"{topic}-0").iterdir() if ".log" in path.suffixes)


@pytest.mark.parametrize(
    ("kind", "name", "key", "value"),
    [
        (TOPIC, "aged", "retention.ms", "1"),
        (TOPIC, "aged", "retention.bytes", "0"),
        (BROKER, "1", "log.retention.ms", "1"),
        (BROKER, "", "log.retention.ms", "1"),
        (BROKER, "1", "log.retention.bytes", "0"),
    ],
)
def test_a_change_is_in_force_at_the_next_check(tmp_path: Path, kind: int, name: str, key: str, value: str) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=CONFIG, topic_defaults=CONFIG.topic_defaults) as client:
            await create_topic(client, "aged")
            await create_topic(client, KEPT, retention_ms="-1", retention_bytes="-1")
            for topic in ("aged", KEPT):
                await produce(client, topic, "a", "b", "c")
            await set_config(client, kind, name, key, value)
            await wait_for_start(client, "aged", 3)
            await until(lambda: segments(tmp_path, "aged") == ["00000000000000000003.log"])
            assert await start_of(client, KEPT) == 0
            await set_config(client, kind, name, key, None)
            await produce(client, "aged", "d")
            await create_topic(client, "other", retention_ms="1")
            await produce(client, "other", "x")
            await wait_for_start(client, "other", 1)  # a round has passed since
            assert await start_of(client, "aged") == 3

    asyncio.run(main())


def test_a_compacted_topic_keeps_all_until_it_is_told_to_delete_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=CONFIG, topic_defaults=CONFIG.topic_defaults) as client:
            await create_topic(client, "table", cleanup_policy="compact", retention_ms="1")
            await create_topic(client, "other", retention_ms="1")
            for topic in ("table", "other"):
                await produce(client, topic, "a")
            await wait_for_start(client, "other", 1)
            assert await start_of(client, "table") == 0
            await set_config(client, TOPIC, "table", "cleanup.policy", "compact,delete")
            await wait_for_start(client, "table", 1)

    asyncio.run(main())
