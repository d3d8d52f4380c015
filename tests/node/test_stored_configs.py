"""Configs of topics that an older cluster left in the metadata, and that this version does not know."""

import asyncio
import logging
from pathlib import Path

import pytest

from odradek.metadata.image import ResourceType
from odradek.model.error_code import ErrorCode
from odradek.process.files import OsFiles
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.opening import MetadataSetting
from odradek.storage.log_dirs import LogDirs
from odradek.storage.open_files import OpenFiles
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from odradek.wire.records.metadata import ConfigRecord
from support.logs import setting
from support.metadata import a_publisher, commit_now
from support.pool import AtOncePool
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

SET, DELETE = 0, 1
FORMAT, DIFFERENCE = "message.format.version", "message.timestamp.difference.max.ms"
LEFT = {FORMAT: "2.8-IV1", DIFFERENCE: "1000", "retention.ms": "soon", "segment.bytes": "2000000"}


def leave_configs(directory: Path, configs: dict[str, str]) -> None:
    """What another controller committed, which does not check as this version does."""
    dirs = LogDirs.take(OpenFiles(OsFiles()), [str(directory)], setting())
    metadata = MetadataLog.open(dirs.dirs[0], MetadataSetting(node_id=1), AtOncePool(), a_publisher())
    commit_now(
        metadata,
        [
            ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="orders", name=name, value=value)
            for name, value in configs.items()
        ],
    )
    metadata.close()
    dirs.abandon()


async def described(client: RawClient) -> dict[str, DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(
        resource_type=ResourceType.TOPIC, resource_name="orders", configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True)
    (result,) = (await client.ask(request, DescribeConfigsResponse, 4)).results
    assert result.error_code == ErrorCode.NONE
    return {each.name: each for each in result.configs}


async def alter(client: RawClient, *changes: tuple[str, int, str | None]) -> int:
    configs = tuple(some.AlterableConfig(name=name, config_operation=what, value=text) for name, what, text in changes)
    resource = some.AlterConfigsResource(resource_type=ResourceType.TOPIC, resource_name="orders", configs=configs)
    request = some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    return (await client.ask(request, some.IncrementalAlterConfigsResponse, 1)).responses[0].error_code


def test_a_node_starts_with_them_and_warns_of_each_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def main() -> None:
        async with node_on(tmp_path) as client:
            assert await create_topic(client, "orders", partitions=3) == ErrorCode.NONE
        leave_configs(tmp_path, LEFT)
        async with node_on(tmp_path) as client:
            assert (await produce(client, "orders", "a")).error_code == ErrorCode.NONE
            found = await described(client)
            for name in (FORMAT, DIFFERENCE):  # as Kafka shows what it does not know: it may be a password
                each = found[name]
                assert (each.value, each.is_sensitive, each.config_type, each.config_source) == (None, True, 0, 1)
            assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("604800000", 5)
            assert (found["segment.bytes"].value, found["segment.bytes"].config_source) == ("2000000", 1)

    asyncio.run(main())
    warned = [vars(each)["config"] for each in caplog.records if each.getMessage() == "ignoring a config of a topic"]
    assert sorted(warned) == sorted([FORMAT, DIFFERENCE, "retention.ms"])


def test_they_can_be_deleted_and_not_set(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
        leave_configs(tmp_path, LEFT)
        async with node_on(tmp_path) as client:
            assert await alter(client, (FORMAT, SET, "3.0")) == ErrorCode.INVALID_CONFIG
            assert await create_topic(client, "others", message_format_version="3.0") == ErrorCode.INVALID_CONFIG
            gone = ((FORMAT, DELETE, None), (DIFFERENCE, DELETE, None), ("retention.ms", SET, "5000"))
            assert await alter(client, *gone) == ErrorCode.NONE
            found = await described(client)
            assert FORMAT not in found
            assert found["retention.ms"].value == "5000"

    asyncio.run(main())
