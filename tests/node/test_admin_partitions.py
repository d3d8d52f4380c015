"""What a client does to partitions: ask for the ends of epochs, delete records, add partitions."""

import asyncio
import shutil
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce


async def delete(client: RawClient, topic: str, offset: int, partition: int = 0) -> tuple[int, int]:
    """The code and the low watermark."""
    part = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name=topic, partitions=(part,)),), timeout_ms=1000)
    answer = (await client.ask(request, DeleteRecordsResponse, 2)).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


async def start_of(client: RawClient, topic: str) -> int:
    part = ListOffsetsPartition(partition_index=0, timestamp=-2)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(part,)),))
    return (await client.ask(request, ListOffsetsResponse, 7)).topics[0].partitions[0].offset


def test_deleted_records_stay_deleted_after_a_kill(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path / "live") as client:
            await create_topic(client, "orders")
            await produce(client, "orders", "a", "b", "c")
            await produce(client, "orders", "d")
            assert await delete(client, "orders", 2) == (ErrorCode.NONE, 2)
            assert await start_of(client, "orders") == 2
            # What a kill at this moment would leave: the files as they are now.
            shutil.copytree(tmp_path / "live", tmp_path / "killed")
        async with node_on(tmp_path / "killed") as client:
            assert await start_of(client, "orders") == 2
            assert await delete(client, "orders", -1) == (ErrorCode.NONE, 4)
            assert await delete(client, "orders", 1) == (ErrorCode.NONE, 4)  # it never goes back

    asyncio.run(main())


def test_records_that_cannot_be_deleted(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            await create_topic(client, "keyed", cleanup_policy="compact")
            await create_topic(client, "__consumer_offsets")
            await produce(client, "orders", "a")
            assert await delete(client, "orders", 2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
            assert await delete(client, "orders", -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
            assert await delete(client, "orders", 0, partition=1) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
            assert await delete(client, "nothing", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
            assert await delete(client, "keyed", -1) == (ErrorCode.POLICY_VIOLATION, -1)
            assert await delete(client, "__consumer_offsets", -1) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
            assert await start_of(client, "orders") == 0

    asyncio.run(main())


def test_where_epochs_ended(tmp_path: Path) -> None:
    async def ask(client: RawClient, epoch: int, topic: str = "orders", current: int = -1) -> tuple[int, int, int]:
        part = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
        request = OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic=topic, partitions=(part,)),))
        answer = (await client.ask(request, OffsetForLeaderEpochResponse, 4)).topics[0].partitions[0]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            assert await ask(client, 0) == (0, 0, 0)
            await produce(client, "orders", "a", "b")
            assert await ask(client, 0) == (0, 0, 2)
            assert await ask(client, 5) == (0, -1, -1)
            assert await ask(client, -1) == (0, -1, -1)
            assert await ask(client, 0, current=7) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
            assert await ask(client, 0, topic="nothing") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)

    asyncio.run(main())


def test_new_partitions_take_records(tmp_path: Path) -> None:
    async def grow(client: RawClient, *topics: CreatePartitionsTopic, validate_only: bool = False) -> list[int]:
        request = CreatePartitionsRequest(topics=topics, timeout_ms=1000, validate_only=validate_only)
        return [each.error_code for each in (await client.ask(request, CreatePartitionsResponse, 3)).results]

    def to(count: int, name: str = "orders", *brokers: int) -> CreatePartitionsTopic:
        chosen = tuple(CreatePartitionsAssignment(broker_ids=(broker,)) for broker in brokers) or None
        return CreatePartitionsTopic(name=name, count=count, assignments=chosen)

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            assert await grow(client, to(3), validate_only=True) == [ErrorCode.NONE]
            answer = await produce(client, "orders", "a", partition=2)
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await grow(client, to(3)) == [ErrorCode.NONE]
            assert (await produce(client, "orders", "a", partition=2)).error_code == ErrorCode.NONE
            assert await grow(client, to(3)) == [ErrorCode.INVALID_PARTITIONS]
            assert await grow(client, to(4), to(5)) == [ErrorCode.INVALID_REQUEST]
            assert await grow(client, to(2, "nothing")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            assert await grow(client, to(4, "orders", 9)) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
            assert await grow(client, to(4, "orders", 1)) == [ErrorCode.NONE]

    asyncio.run(main())


def test_many_new_partitions_can_be_used_at_once_and_have_logs_after_a_stop(tmp_path: Path) -> None:
    async def add() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            wanted = CreatePartitionsTopic(name="orders", count=500, assignments=None)
            request = CreatePartitionsRequest(topics=(wanted,), timeout_ms=1000, validate_only=False)
            assert (await client.ask(request, CreatePartitionsResponse, 3)).results[0].error_code == ErrorCode.NONE
            assert (await produce(client, "orders", "a", partition=499)).error_code == ErrorCode.NONE

    async def use_again() -> None:
        async with node_on(tmp_path) as client:
            assert (await produce(client, "orders", "b", partition=499)).base_offset == 1

    asyncio.run(add())
    assert len(list(tmp_path.glob("orders-*"))) == 500
    asyncio.run(use_again())
