"""A partition that moves to another log directory under clients that write and read it; elections, reassignments."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.testing import running_broker
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from support.places import begin_move, limit_moves, places, until_in
from support.raw_client import RawClient
from support.reading import read_partition
from support.running_node import create_topic, produce

LIMIT_S = 60


@asynccontextmanager
async def two_directories(root: Path, *, stop: bool = True) -> AsyncIterator[RawClient]:
    """A node on `a` and `b`, which is stopped properly or let go of as a crash would."""
    setting = NodeSetting(directories=[str(root / "a"), str(root / "b")], port=0)
    node = await Node.start(setting)
    client = await RawClient.connect(*node.address)
    try:
        async with asyncio.timeout(LIMIT_S):
            yield client
    finally:
        await client.close()
        await (node.stop() if stop else node.abandon())


async def elsewhere(client: RawClient, root: Path, topic: str = "orders") -> str:
    """The directory that the partition is not in."""
    (place,) = await places(client, topic)
    return str(root / ("b" if place.path == str(root / "a") else "a"))


async def values(client: RawClient, topic: str = "orders") -> list[str]:
    return [(record.value or b"").decode() for record in (await read_partition(client, topic)).records]


def test_a_partition_moves_while_it_is_written_and_read(tmp_path: Path) -> None:
    written: list[str] = []

    async def write(client: RawClient, stop: asyncio.Event) -> None:
        while not stop.is_set():
            value = f"{len(written)}".ljust(2000, ".")
            answer = await produce(client, "orders", value)
            assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, len(written))
            written.append(value)

    async def read(client: RawClient, stop: asyncio.Event) -> None:
        while not stop.is_set():
            before = len(written)
            assert (await values(client))[:before] == written[:before]

    async def main() -> None:
        async with two_directories(tmp_path) as client:
            assert await create_topic(client, "orders", segment_bytes="1048576") == ErrorCode.NONE
            for number in range(1000):
                written.append(f"{number}".ljust(2000, "."))
                await produce(client, "orders", written[-1])
            stop = asyncio.Event()
            writer, reader = await client.another(), await client.another()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(write(writer, stop), name="write")
                tasks.create_task(read(reader, stop), name="read")
                for _ in range(3):
                    target = await elsewhere(client, tmp_path)
                    assert await begin_move(client, "orders", target) == ErrorCode.NONE
                    await until_in(client, "orders", target)
                stop.set()
            assert len(written) > 1000
            await writer.close()
            await reader.close()
            assert await values(client) == written
            (place,) = await places(client, "orders")
        async with two_directories(tmp_path) as client:
            assert await places(client, "orders") == [place]
            assert place.size > 2_000_000
            assert await values(client) == written

    asyncio.run(main())


def test_what_is_told_of_a_move_that_is_held_back(tmp_path: Path) -> None:
    """A rate of 0 stops it where it is; it goes on when the node starts again, without the rate."""

    async def main() -> None:
        async with two_directories(tmp_path, stop=False) as client:
            await create_topic(client, "orders")
            await produce(client, "orders", *map(str, range(100)))
            await limit_moves(client, 0)
            target = await elsewhere(client, tmp_path)
            assert await begin_move(client, "orders", target) == ErrorCode.NONE
            copy, own = sorted(await places(client, "orders"), key=lambda each: not each.is_future)
            assert (copy.path, copy.is_future, copy.size, copy.lag) == (target, True, 0, 100)
            assert (own.is_future, own.lag) == (False, 0)
            assert [name[-7:] for name in os.listdir(target) if name.startswith("orders")] == ["-future"]
            await limit_moves(client, None)
        async with two_directories(tmp_path) as client:
            await until_in(client, "orders", target)
            assert await values(client) == list(map(str, range(100)))

    asyncio.run(main())


def test_refusals_and_moves_that_are_none(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_directories(tmp_path) as client:
            await create_topic(client, "orders")
            (place,) = await places(client, "orders")
            assert await begin_move(client, "orders", place.path) == ErrorCode.NONE
            assert await begin_move(client, "orders", "/none") == ErrorCode.LOG_DIR_NOT_FOUND
            assert await begin_move(client, "none", place.path) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await begin_move(client, "orders", place.path, 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await places(client, "orders") == [place]
            await create_topic(client, "none")
            assert [each.path for each in await places(client, "none")] == [place.path]  # as was wished for

    asyncio.run(main())


def test_elections_and_reassignments(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_directories(tmp_path) as client:
            await create_topic(client, "orders", 2)
            named = (TopicPartitions(topic="orders", partitions=(0, 5)),)
            elected = await client.ask(ElectLeadersRequest(topic_partitions=named), ElectLeadersResponse, 2)
            assert [each.error_code for each in elected.replica_election_results[0].partition_result] == [
                ErrorCode.ELECTION_NOT_NEEDED,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ]
            parts = tuple(
                ReassignablePartition(partition_index=number, replicas=replicas)
                for number, replicas in ((0, (1,)), (1, (2,)), (1, None))
            )
            topic = ReassignableTopic(name="orders", partitions=parts)
            altered = await client.ask(
                AlterPartitionReassignmentsRequest(topics=(topic,)), AlterPartitionReassignmentsResponse, 1
            )
            assert [each.error_code for each in altered.responses[0].partitions] == [
                ErrorCode.NONE,
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
            ]
            listed = await client.ask(
                ListPartitionReassignmentsRequest(topics=None), ListPartitionReassignmentsResponse, 0
            )
            assert (listed.error_code, listed.topics) == (ErrorCode.NONE, ())

    asyncio.run(main())


OFFSETS = "__consumer_offsets"


def test_offsets_of_groups_are_committed_while_their_partition_moves(tmp_path: Path) -> None:
    """Those who keep a log at hand, as coordinators do, notice nothing."""
    settings = {"log.dirs": f"{tmp_path}/a,{tmp_path}/b", "offsets.topic.num.partitions": "1"}

    async def move_it(client: RawClient) -> int:
        await create_topic(client, "orders")
        while (await find_coordinator(client)).coordinators[0].error_code:
            pass
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            committing = tasks.create_task(commit_on_and_on(client, stop), name="commit")
            for _ in range(4):
                target = await elsewhere(client, tmp_path, OFFSETS)
                assert await begin_move(client, OFFSETS, target) == ErrorCode.NONE
                await until_in(client, OFFSETS, target)
            stop.set()
        return committing.result()

    with running_broker(settings) as broker:
        committed = asyncio.run(told(broker.port, move_it))
        assert asyncio.run(told(broker.port, committed_offset)) == committed
        broker.kill()
        broker.start()
        assert asyncio.run(told(broker.port, committed_offset)) == committed


async def told(port: int, ask: Callable[[RawClient], Awaitable[int]]) -> int:
    client = await RawClient.connect("127.0.0.1", port)
    try:
        async with asyncio.timeout(LIMIT_S):
            return await ask(client)
    finally:
        await client.close()


async def commit_on_and_on(client: RawClient, stop: asyncio.Event) -> int:
    """Returns the last offset."""
    mine, offset = await client.another(), 0
    while not stop.is_set():
        offset += 1
        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        topic = OffsetCommitRequestTopic(name="orders", partitions=(part,))
        request = OffsetCommitRequest(group_id="group", member_id="", topics=(topic,))
        answer = await mine.ask(request, OffsetCommitResponse, 8)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    await mine.close()
    return offset


async def find_coordinator(client: RawClient) -> FindCoordinatorResponse:
    return await client.ask(FindCoordinatorRequest(coordinator_keys=("group",)), FindCoordinatorResponse, 4)


async def committed_offset(client: RawClient) -> int:
    """Waits for the coordinator to know."""
    topic = OffsetFetchRequestTopics(name="orders", partition_indexes=(0,))
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id="group", topics=(topic,)),))
    while True:
        (group,) = (await client.ask(request, OffsetFetchResponse, 8)).groups
        if group.error_code == ErrorCode.NONE:
            return group.topics[0].partitions[0].committed_offset
