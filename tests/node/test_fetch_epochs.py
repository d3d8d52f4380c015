"""Fetches of clients whose idea of a partition is another one: who leads it, and what was in it."""

import asyncio
from pathlib import Path

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce


async def fetch(client: RawClient, offset: int, known_epoch: int = -1, last_epoch: int = -1) -> FetchResponse:
    asked = MetadataRequest(topics=(MetadataRequestTopic(name="orders"),))
    topic = (await client.ask(asked, MetadataResponse, 13)).topics[0]
    part = FetchPartition(
        partition=0,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
        current_leader_epoch=known_epoch,
        last_fetched_epoch=last_epoch,
    )
    topics = (FetchTopic(topic_id=topic.topic_id, partitions=(part,)),)
    # It may wait for a minute: what is urgent is answered at once all the same.
    return await client.ask(FetchRequest(topics=topics, max_wait_ms=60_000, min_bytes=1 << 20), FetchResponse, 18)


def partition(response: FetchResponse) -> PartitionData:
    return response.responses[0].partitions[0]


def test_epochs_of_the_leader_and_of_the_last_record(tmp_path: Path) -> None:
    """Each start of a node begins an epoch: records 0 and 1 are of epoch 1, record 2 is of epoch 2."""

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
        async with node_on(tmp_path) as client:
            await produce(client, "orders", "a", "b")
        async with node_on(tmp_path) as client:
            await produce(client, "orders", "c")
            fenced = await fetch(client, 0, known_epoch=1)
            assert partition(fenced).error_code == ErrorCode.FENCED_LEADER_EPOCH
            leader = partition(fenced).current_leader
            assert (leader.leader_id, leader.leader_epoch) == (1, 2)
            assert [each.node_id for each in fenced.node_endpoints] == [1]
            unknown = await fetch(client, 0, known_epoch=3)
            assert partition(unknown).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
            for offset, last_epoch, expected in [(3, 1, (1, 2)), (4, 2, (2, 3))]:
                found = partition(await fetch(client, offset, last_epoch=last_epoch))
                assert found.error_code == ErrorCode.NONE
                assert (found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == expected
                assert (found.high_watermark, found.records) == (3, b"")
            ahead = partition(await fetch(client, 3, last_epoch=3))
            assert ahead.error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    asyncio.run(main())


@pytest.mark.parametrize("replica", [1, 7])
def test_nobody_follows_a_partition_of_one_replica(tmp_path: Path, replica: int) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
            topics = (FetchTopic(topic="orders", partitions=(part,)),)
            request = FetchRequest(replica_id=replica, topics=topics, max_wait_ms=0, min_bytes=1)
            answer = await client.ask(request, FetchResponse, 12)
            assert partition(answer).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            topic = FetchTopic(topic_id=bytes(range(16)), partitions=(part,))
            state = ReplicaState(replica_id=replica, replica_epoch=1)
            request = FetchRequest(replica_state=state, topics=(topic,), max_wait_ms=0, min_bytes=1)
            answer = await client.ask(request, FetchResponse, 18)
            assert partition(answer).error_code == ErrorCode.UNKNOWN_TOPIC_ID

    asyncio.run(main())
