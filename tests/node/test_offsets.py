"""Coordinators found and offsets committed, asked for and deleted over the protocol; restarts, kills, power losses."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.topic_config import TopicConfig
from odradek.process.machine import Machine
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.testing import RunningBroker
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.wire.schema import NO_UUID
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.offset_stage import offsets
from support.raw_client import RawClient
from support.running_node import create_topic, node_on

FEW = BrokerConfig(offsets_topic_num_partitions=3)


async def find(client: RawClient, *groups: str) -> None:
    found = await client.ask(FindCoordinatorRequest(coordinator_keys=groups), FindCoordinatorResponse, 4)
    assert [each.error_code for each in found.coordinators] == [0] * len(groups)


async def commit(client: RawClient, group: str, topic: str, offset: int, *partitions: int) -> list[int]:
    request = OffsetCommitRequest(group_id=group, member_id="", topics=(offsets(topic, offset, *partitions),))
    response = await client.ask(request, OffsetCommitResponse, 8)
    return [each.error_code for answered in response.topics for each in answered.partitions]


async def committed(client: RawClient, group: str) -> dict[tuple[str, int], int]:
    """Waits while the coordinator loads."""
    while True:
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=None),))
        (found,) = (await client.ask(request, OffsetFetchResponse, 8)).groups
        if found.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    assert found.error_code == ErrorCode.NONE
    return {
        (topic.name, each.partition_index): each.committed_offset for topic in found.topics for each in topic.partitions
    }


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


class TestFindCoordinator:
    def test_makes_the_topic_as_kafka_does(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path) as client:
                await find(client, "a", "b")
                wanted = (MetadataRequestTopic(name="__consumer_offsets"),)
                told = await client.ask(MetadataRequest(topics=wanted), MetadataResponse, 12)
                assert (len(told.topics[0].partitions), told.topics[0].is_internal) == (50, True)
                resource = DescribeConfigsResource(
                    resource_type=2,
                    resource_name="__consumer_offsets",
                    configuration_keys=("cleanup.policy", "compression.type", "segment.bytes"),
                )
                configs = await client.ask(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse, 4)
                assert {each.name: (each.value, each.config_source) for each in configs.results[0].configs} == {
                    "cleanup.policy": ("compact", 1),
                    "compression.type": ("producer", 1),
                    "segment.bytes": ("104857600", 1),
                }

        play(scene())

    @pytest.mark.parametrize("version", range(7))
    def test_tells_the_address_that_the_client_reached(self, tmp_path: Path, version: int) -> None:
        async def scene() -> None:
            async with node_on(tmp_path, config=FEW) as client:
                request = (
                    FindCoordinatorRequest(key="g") if version < 4 else FindCoordinatorRequest(coordinator_keys=("g",))
                )
                response = await client.ask(request, FindCoordinatorResponse, version)
                found = response if version < 4 else response.coordinators[0]
                assert (found.error_code, found.node_id, (found.host, found.port)) == (0, 1, client.address)

        play(scene())

    def test_asked_by_many_at_once(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path, config=FEW) as client:
                others = [await client.another() for _ in range(5)]
                await asyncio.gather(*(find(each, "g") for each in (client, *others)))
                for each in others:
                    await each.close()

        play(scene())


class TestCommitAndFetch:
    def test_before_a_coordinator_was_asked_for(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path) as client:
                await create_topic(client, "orders")
                assert await commit(client, "g", "orders", 1) == [ErrorCode.NOT_COORDINATOR]
                request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id="g", topics=None),))
                (found,) = (await client.ask(request, OffsetFetchResponse, 8)).groups
                assert found.error_code == ErrorCode.NOT_COORDINATOR

        play(scene())

    def test_in_every_version(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path, config=FEW) as client:
                await create_topic(client, "orders", 2)
                await find(client, "g")
                told = await client.ask(
                    MetadataRequest(topics=(MetadataRequestTopic(name="orders"),)), MetadataResponse, 12
                )
                topic_id = told.topics[0].topic_id
                for version in range(2, 11):
                    topic = offsets("orders" if version < 10 else topic_id, version, 1, metadata=str(version))
                    request = OffsetCommitRequest(group_id="g", member_id="", topics=(topic,))
                    response = await client.ask(request, OffsetCommitResponse, version)
                    assert response.topics[0].partitions[0].error_code == 0, version
                    assert (response.topics[0].name, response.topics[0].topic_id)[version >= 10] == (
                        topic_id if version >= 10 else "orders"
                    )
                    await self.check_fetches(client, topic_id, version)

        play(scene())

    async def check_fetches(self, client: RawClient, topic_id: bytes, expected: int) -> None:
        for version in range(1, 8):
            wanted = (OffsetFetchRequestTopic(name="orders", partition_indexes=(0, 1)),)
            response = await client.ask(OffsetFetchRequest(group_id="g", topics=wanted), OffsetFetchResponse, version)
            found = [(each.committed_offset, each.metadata) for each in response.topics[0].partitions]
            assert found == [(-1, ""), (expected, str(expected))], version
        for version in range(8, 11):
            topics = (OffsetFetchRequestTopics(name="orders", partition_indexes=(0, 1)),)
            if version >= 10:
                topics = (OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=(0, 1)),)
            groups = tuple(OffsetFetchRequestGroup(group_id=group, topics=topics) for group in ("g", "other"))
            many = await client.ask(OffsetFetchRequest(groups=groups), OffsetFetchResponse, version)
            offsets_of = [[each.committed_offset for each in group.topics[0].partitions] for group in many.groups]
            assert offsets_of == [[-1, expected], [-1, -1]], version

    def test_of_very_many_groups_at_once(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path, config=FEW) as client:
                await create_topic(client, "orders")
                names = [f"group-{number}" for number in range(100)]
                await find(client, *names)
                for number, name in enumerate(names):
                    await commit(client, name, "orders", number)
                groups = tuple(OffsetFetchRequestGroup(group_id=name, topics=None) for name in names)
                found = await client.ask(OffsetFetchRequest(groups=groups), OffsetFetchResponse, 9)
                told = [(each.group_id, each.topics[0].partitions[0].committed_offset) for each in found.groups]
                assert told == [(name, number) for number, name in enumerate(names)]

        play(scene())

    def test_goes_with_its_topic(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path, config=FEW) as client:
                await create_topic(client, "orders", 2)
                await create_topic(client, "clicks")
                await find(client, "g")
                await commit(client, "g", "orders", 5, 0, 1)
                await commit(client, "g", "clicks", 5)
                gone = DeleteTopicsRequest(topics=(DeleteTopicState(name="orders", topic_id=NO_UUID),), timeout_ms=1000)
                await client.ask(gone, DeleteTopicsResponse, 6)
                assert await committed(client, "g") == {("clicks", 0): 5}

        play(scene())

    def test_can_be_deleted(self, tmp_path: Path) -> None:
        async def scene() -> None:
            async with node_on(tmp_path, config=FEW) as client:
                await create_topic(client, "orders", 2)
                await find(client, "g")
                await commit(client, "g", "orders", 5, 0, 1)
                topic = OffsetDeleteRequestTopic(
                    name="orders", partitions=(OffsetDeleteRequestPartition(partition_index=1),)
                )
                for group, code in (
                    ("g", 0),
                    ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
                    ("", ErrorCode.INVALID_GROUP_ID),
                ):
                    request = OffsetDeleteRequest(group_id=group, topics=(topic,))
                    response = await client.ask(request, OffsetDeleteResponse, 0)
                    assert response.error_code == code
                assert await committed(client, "g") == {("orders", 0): 5}

        play(scene())


class TestRestart:
    def test_finds_all_that_was_committed(self, tmp_path: Path) -> None:
        groups = [f"group-{number}" for number in range(30)]

        async def scene() -> None:
            async with node_on(tmp_path) as client:
                await create_topic(client, "orders", 2)
                await find(client, *groups)
                for number in range(3):
                    for group in groups:
                        assert await commit(client, group, "orders", number, 0, 1) == [0, 0]
            async with node_on(tmp_path) as client:
                for group in groups:
                    assert await committed(client, group) == {("orders", 0): 2, ("orders", 1): 2}

        play(scene())

    def test_after_a_kill(self, tmp_path: Path) -> None:
        async def scene() -> None:
            setting = NodeSetting(directories=[str(tmp_path)], port=0, config=FEW)
            node = await Node.start(setting)
            client = await RawClient.connect(*node.address)
            await create_topic(client, "orders")
            await find(client, "g")
            assert await commit(client, "g", "orders", 7) == [0]
            await client.close()
            await node.abandon()
            async with node_on(tmp_path, config=FEW) as client:
                assert await committed(client, "g") == {("orders", 0): 7}

        play(scene())

    def test_after_power_was_lost_with_every_message_flushed(self) -> None:
        clock = ManualClock()
        disk = FaultyDisk("/data", clock=clock)
        machine = Machine(disk, clock, children=0)
        setting = NodeSetting(directories=["/data/d"], port=0, config=FEW, topic_defaults=TopicConfig(flush_messages=1))

        async def scene() -> None:
            node = await Node.start(setting, machine)
            client = await RawClient.connect(*node.address)
            await create_topic(client, "orders")
            await find(client, "g")
            for offset in range(5):
                assert await commit(client, "g", "orders", offset) == [0]
            disk.power_loss()
            await client.close()
            await node.abandon()
            node = await Node.start(setting, machine)
            client = await RawClient.connect(*node.address)
            assert await committed(client, "g") == {("orders", 0): 4}
            await client.close()
            await node.stop()

        play(scene())


def test_a_client_that_assigns_itself_commits_and_goes_on(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic("orders", partitions=2)
    setting = {"bootstrap.servers": odradek_broker.bootstrap, "group.id": "readers", "enable.auto.commit": False}
    consumer = Consumer(setting)
    consumer.assign([TopicPartition("orders", 0), TopicPartition("orders", 1)])
    consumer.commit(offsets=[TopicPartition("orders", 1, 17, metadata="half way")], asynchronous=False)
    consumer.close()
    another = Consumer(setting)
    found = another.committed([TopicPartition("orders", 0), TopicPartition("orders", 1)], timeout=60)
    assert [(each.offset, each.error) for each in found] == [(-1001, None), (17, None)]
    assert found[1].metadata == "half way"
    another.close()
