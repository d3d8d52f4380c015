"""Log directories that fail while a node runs: it goes on with the others, and ends where it cannot."""

import asyncio
import errno
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.process.machine import Machine
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from support.disk import FaultyDisk, Op
from support.raw_client import RawClient
from support.running_node import create_topic, produce

LIMIT_S = 60


@asynccontextmanager
async def node_on(disk: FaultyDisk, *directories: str, failed: asyncio.Event) -> AsyncIterator[tuple[Node, RawClient]]:
    setting = NodeSetting(directories=list(directories), port=0)
    node = await Node.start(setting, Machine(files=disk, clock=disk.clock, children=0), failed.set)
    client = await RawClient.connect(*node.address)
    try:
        async with asyncio.timeout(LIMIT_S):
            yield node, client
    finally:
        await client.close()
        await node.stop()


async def told_of(client: RawClient, topic: str) -> list[list[tuple[object, ...]]]:
    """An error, who leads, who is in sync, which replicas are offline: of each partition, in two ways to ask."""
    metadata = await client.ask(MetadataRequest(topics=(MetadataRequestTopic(name=topic),)), MetadataResponse, 12)
    asked = DescribeTopicPartitionsRequest(topics=(TopicRequest(name=topic),), response_partition_limit=10)
    described = await client.ask(asked, DescribeTopicPartitionsResponse, 0)
    return [
        [
            (each.error_code, each.leader_id, each.isr_nodes, each.offline_replicas)
            for each in answer.topics[0].partitions
        ]
        for answer in (metadata, described)
    ]


def test_without_its_only_directory_a_node_has_failed() -> None:
    disk = FaultyDisk("/data")

    async def main() -> None:
        failed = asyncio.Event()
        async with node_on(disk, "/data", failed=failed) as (node, client):
            assert await create_topic(client, "orders") == ErrorCode.NONE
            assert (await produce(client, "orders", "kept")).error_code == ErrorCode.NONE
            disk.fail_next(Op.WRITE, on="orders-0")
            assert (await produce(client, "orders", "refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            await failed.wait()
            assert node.failure is not None
            assert node.failure.startswith("/data has the metadata log, and failed: ")

    asyncio.run(main())
    assert "data/.kafka_cleanshutdown" not in disk.tree()


def test_one_of_several_is_told_of_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    disk = FaultyDisk("/first", "/second")

    async def main() -> None:
        failed = asyncio.Event()
        async with node_on(disk, "/first", "/second", failed=failed) as (node, client):
            assert await create_topic(client, "orders", 2) == ErrorCode.NONE
            second = next(number for number in (0, 1) if f"second/orders-{number}/partition.metadata" in disk.tree())
            disk.fail_next(Op.WRITE, on=f"/second/orders-{second}")
            refused = await produce(client, "orders", "refused", partition=second)
            assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert (await produce(client, "orders", "taken", partition=1 - second)).error_code == ErrorCode.NONE
            online, offline = (ErrorCode.NONE, 1, (1,), ()), (ErrorCode.LEADER_NOT_AVAILABLE, -1, (), (1,))
            expected = [offline if number == second else online for number in (0, 1)]
            told: object = None
            while told != [expected, expected]:
                told = await told_of(client, "orders")
            assert node.failure is None
            assert not failed.is_set()

    asyncio.run(main())
    assert [vars(each)["path"] for each in caplog.records if each.message == "a log directory failed"] == ["/second"]
    assert "first/.kafka_cleanshutdown" in disk.tree()
    assert "second/.kafka_cleanshutdown" not in disk.tree()


def test_a_sync_that_fails_is_told_of_its_own_partitions_alone() -> None:
    disk = FaultyDisk("/first", "/second")

    async def main() -> None:
        async with node_on(disk, "/first", "/second", failed=asyncio.Event()) as (_, client):
            assert await create_topic(client, "orders", 2, flush_messages="1") == ErrorCode.NONE
            second = next(number for number in (0, 1) if f"second/orders-{number}/partition.metadata" in disk.tree())
            disk.fail_next(Op.SYNC, on=f"/second/orders-{second}")
            record = Record(Offset(0), NO_TIMESTAMP, b"k", b"v")
            sent = tuple(
                PartitionProduceData(index=number, records=build_batch([record], BatchSpec()))
                for number in (second, 1 - second)  # the other one is still waited for
            )
            data = TopicProduceData(name="orders", partition_data=sent)
            asked = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(data,))
            (topic,) = (await client.ask(asked, ProduceResponse, 9)).responses
            answers = {part.index: (part.error_code, part.base_offset) for part in topic.partition_responses}
            assert answers == {second: (ErrorCode.KAFKA_STORAGE_ERROR, -1), 1 - second: (ErrorCode.NONE, 0)}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("op", "on"),
    [
        (Op.MAKE_DIR, "orders-0"),
        (Op.WRITE, "orders-0/partition.metadata"),
        (Op.CREATE, "orders-0/00000000000000000000.log"),
        (Op.WRITE, "orders-0/leader-epoch-checkpoint"),
    ],
)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_partition_whose_log_cannot_be_made_is_lost_until_the_directory_is_back(op: Op, on: str, error: int) -> None:
    disk = FaultyDisk("/first", "/second")

    async def before() -> None:
        failed = asyncio.Event()
        async with node_on(disk, "/first", "/second", failed=failed) as (_, client):
            assert await create_topic(client, "bills") == ErrorCode.NONE
            assert "first/bills-0/partition.metadata" in disk.tree()
            disk.fail_next(op, error, on=on)
            assert await create_topic(client, "orders") == ErrorCode.NONE
            for _ in range(2):
                assert (await produce(client, "orders", "refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            offline = [(ErrorCode.LEADER_NOT_AVAILABLE, -1, (), (1,))]
            assert await told_of(client, "orders") == [offline, offline]
            assert (await produce(client, "bills", "taken")).error_code == ErrorCode.NONE
            assert await create_topic(client, "goods") == ErrorCode.NONE
            assert (await produce(client, "goods", "taken")).error_code == ErrorCode.NONE
            assert not failed.is_set()

    async def after() -> None:
        async with node_on(disk, "/first", "/second", failed=asyncio.Event()) as (_, client):
            assert (await produce(client, "orders", "taken")).base_offset == 0

    asyncio.run(before())
    asyncio.run(after())


def test_one_that_cannot_be_used_at_the_start_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    disk = FaultyDisk("/first", "/second")
    disk.fail_next(Op.LOCK, on="/second")

    async def main() -> None:
        async with node_on(disk, "/first", "/second", failed=asyncio.Event()) as (node, client):
            assert await create_topic(client, "orders") == ErrorCode.NONE
            assert node.failure is None

    asyncio.run(main())
    told = [vars(each)["path"] for each in caplog.records if each.message == "a log directory cannot be used"]
    assert told == ["/second"]


def test_without_the_metadata_log_a_node_has_failed_and_the_others_are_closed() -> None:
    disk = FaultyDisk("/first", "/second")

    async def main() -> None:
        failed = asyncio.Event()
        async with node_on(disk, "/first", "/second", failed=failed) as (node, client):
            disk.fail_next(Op.SYNC, on="/first/__cluster_metadata-0")
            await create_topic(client, "orders")
            await failed.wait()
            assert node.failure is not None
            assert node.failure.startswith("/first has the metadata log")

    asyncio.run(main())
    assert "first/.kafka_cleanshutdown" not in disk.tree()
    assert "second/.kafka_cleanshutdown" in disk.tree()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process can be set on Linux alone")
def test_the_process_ends_and_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "odradek", "serve", "--attached", "--data", str(tmp_path), "--listen"]
    with subprocess.Popen(
        [*command, "127.0.0.1:0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().strip().rsplit(":", 1)

        async def main() -> None:
            client = await RawClient.connect(host, int(port))
            assert await create_topic(client, "orders") == ErrorCode.NONE
            # No file of it may grow any more.
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            assert (await produce(client, "orders", "refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            await client.close()

        asyncio.run(main())
        said = process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == 1
    assert f"odradek: {tmp_path} has the metadata log, and failed: [Errno 27]" in said.splitlines()[-1]
