"""Directories of a node that are apart from the others: that of the metadata log, and those that cannot be used."""

import asyncio
from pathlib import Path

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.errors import StorageFailed
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

METADATA = "__cluster_metadata-0"


async def describe(client: RawClient) -> tuple[DescribeLogDirsResult, ...]:
    return (await client.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)).results


def test_the_metadata_log_in_a_directory_of_its_own(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"

    async def main() -> None:
        for round_ in range(2):
            async with node_on(data, metadata_directory=str(metadata)) as client:
                if round_ == 0:
                    assert await create_topic(client, "orders") == ErrorCode.NONE
                assert (await produce(client, "orders", "a")).base_offset == round_
                (described,) = await describe(client)
                assert (described.log_dir, [topic.name for topic in described.topics]) == (str(data), ["orders"])
        assert (metadata / METADATA).is_dir()
        assert not (data / METADATA).exists()
        assert {path.name for path in metadata.iterdir()} >= {"meta.properties", ".kafka_cleanshutdown"}
        assert (data / "orders-0").is_dir()

    asyncio.run(main())


def test_the_metadata_log_in_one_of_the_others(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"

    async def main() -> None:
        async with node_on(first, second, metadata_directory=f"{tmp_path}/first/../second/") as client:
            assert len(await describe(client)) == 2
        assert [(path / METADATA).exists() for path in (first, second)] == [False, True]

    asyncio.run(main())


def test_a_directory_that_cannot_be_used_is_told_of(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    bad.write_text("a file")

    async def main() -> None:
        async with node_on(good, bad) as client:
            assert await create_topic(client, "orders") == ErrorCode.NONE
            found = {each.log_dir: each for each in await describe(client)}
            assert found[str(good)].error_code == ErrorCode.NONE
            assert found[str(bad)].error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert (found[str(bad)].topics, found[str(bad)].total_bytes) == ((), -1)

    asyncio.run(main())


def test_without_its_metadata_a_node_does_not_start(tmp_path: Path) -> None:
    """With the metadata log of another directory it would begin a new cluster, and set aside all that it has."""
    first, second = tmp_path / "first", tmp_path / "second"

    async def main() -> None:
        async with node_on(first, second):
            pass
        (first / "recovery-point-offset-checkpoint").write_text("9\n0\n")  # of a version to come
        with pytest.raises(StorageFailed, match="metadata log"):
            await Node.start(NodeSetting(directories=[str(first), str(second)], port=0))
        assert not (second / METADATA).exists()

    asyncio.run(main())


def test_partitions_of_a_directory_that_cannot_be_used_are_not_made_anew(tmp_path: Path) -> None:
    """What would be written to them would be hidden when the directory comes back, or hide what is in it."""
    first, second = tmp_path / "first", tmp_path / "second"
    checkpoint = second / "recovery-point-offset-checkpoint"

    async def main() -> None:
        async with node_on(first, second) as client:
            assert await create_topic(client, "orders", 2) == ErrorCode.NONE
            for partition in (0, 1):
                assert (await produce(client, "orders", "kept", partition=partition)).error_code == ErrorCode.NONE
        lost = next(number for number in (0, 1) if (second / f"orders-{number}").exists())
        before = checkpoint.read_text()
        checkpoint.write_text("9\n0\n")  # of a version to come
        async with node_on(first, second) as client:
            assert (await produce(client, "orders", "b", partition=lost)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert (await produce(client, "orders", "b", partition=1 - lost)).base_offset == 1
            assert await create_topic(client, "new") == ErrorCode.NONE
            assert (await produce(client, "new", "a")).base_offset == 0
        checkpoint.write_text(before)
        async with node_on(first, second) as client:
            for partition in (0, 1):
                assert (await produce(client, "orders", "c", partition=partition)).base_offset == 2 - (
                    partition == lost
                )

    asyncio.run(main())
