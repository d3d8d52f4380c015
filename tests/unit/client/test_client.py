"""A cluster of fake brokers: who is asked what, and what is tried again."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from odradek.client.client import Client, parse_bootstrap
from odradek.client.errors import NoneReachable, Refused, Unreachable, refusal
from odradek.client.offsets import LATEST, list_offsets
from odradek.client.setting import BACKOFF_S_MAX, ClientSetting, pauses_s
from odradek.client.topics import delete_topics
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import InvalidConfig
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from support.fake_broker import Asked, FakeBroker


class Cluster:
    """Two brokers, 1 and 2. Partition 0 of the topic `orders` is led by `leader`."""

    def __init__(self) -> None:
        self.brokers = {number: FakeBroker(self._answer) for number in (1, 2)}
        self.controller = 1
        self.leader = 1
        self.not_leader: Callable[[], None] = lambda: None
        """Called when one is asked who does not lead."""

    def _answer(self, asked: Asked) -> None:
        if isinstance(asked.request, MetadataRequest):
            asked.reply(self._metadata())
        me = next(number for number, broker in self.brokers.items() if asked in broker.asked)
        if isinstance(asked.request, DeleteTopicsRequest):
            code = ErrorCode.NONE if me == self.controller else ErrorCode.NOT_CONTROLLER
            asked.reply(DeleteTopicsResponse(responses=(DeletableTopicResult(name="orders", error_code=code),)))
        if isinstance(asked.request, ListOffsetsRequest):
            code = ErrorCode.NONE if me == self.leader else ErrorCode.NOT_LEADER_OR_FOLLOWER
            if code:
                self.not_leader()
            partition = ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=me * 100)
            asked.reply(ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name="orders", partitions=(partition,)),)))

    def _metadata(self) -> MetadataResponse:
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=self.told_leader, replica_nodes=(1, 2), isr_nodes=(1, 2)
        )
        return MetadataResponse(
            brokers=tuple(
                MetadataResponseBroker(node_id=number, host=broker.address.host, port=broker.address.port)
                for number, broker in self.brokers.items()
            ),
            controller_id=self.told_controller,
            topics=(MetadataResponseTopic(name="orders", partitions=(partition,)),),
        )

    told_leader = 1
    told_controller = 1


Test = Callable[[Cluster, Client], Coroutine[Any, Any, None]]


def run(test: Test) -> None:
    async def main() -> None:
        cluster = Cluster()
        first, second = cluster.brokers.values()
        async with (
            asyncio.timeout(60),
            first.serving(),
            second.serving(),
            await Client.connect([first.address]) as client,
        ):
            await test(cluster, client)

    asyncio.run(main())


def kinds(broker: FakeBroker) -> list[str]:
    return [type(each.request).__name__.removesuffix("Request") for each in broker.asked]


def test_what_the_controller_refuses_is_asked_of_the_next_one() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.controller = 2

        def move(asked: Asked) -> None:
            cluster._answer(asked)
            if isinstance(asked.request, DeleteTopicsRequest):
                cluster.told_controller = 2

        cluster.brokers[1].answer = move
        assert await delete_topics(client, ["orders"]) == {"orders": None}
        assert kinds(cluster.brokers[1]) == ["Metadata", "DeleteTopics", "Metadata"]
        assert kinds(cluster.brokers[2]) == ["DeleteTopics"]

    run(test)


def test_leaders_that_moved_are_found() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.leader = 2

        def move() -> None:
            cluster.told_leader = 2

        cluster.not_leader = move
        partition = TopicPartition("orders", 0)
        assert await list_offsets(client, {partition: LATEST}) == {partition: 200}
        assert kinds(cluster.brokers[2]) == ["ListOffsets"]

    run(test)


def test_what_nobody_leads_has_its_error_when_the_time_is_up() -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.told_leader = -1
        async with (
            asyncio.timeout(60),
            cluster.brokers[1].serving() as broker,
            await Client.connect([broker.address], ClientSetting(timeout_s=0.01)) as client,
        ):
            known, unknown = TopicPartition("orders", 0), TopicPartition("orders", 7)
            found = await list_offsets(client, {known: LATEST, unknown: LATEST})
        assert [each.code for each in found.values() if isinstance(each, Refused)] == [
            ErrorCode.LEADER_NOT_AVAILABLE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]

    asyncio.run(main())


def test_one_connection_to_a_node_however_many_ask() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        await asyncio.gather(*(client.ask_node(2, MetadataRequest(), MetadataResponse) for _ in range(20)))
        assert cluster.brokers[2].connections == 1
        assert len(cluster.brokers[2].asked) == 20

    run(test)


def test_no_such_broker() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        with pytest.raises(Refused, match="there is no broker 9"):
            await client.ask_node(9, MetadataRequest(), MetadataResponse)

    run(test)


def test_a_lost_connection_is_made_again() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        def hang_up_once(asked: Asked) -> None:
            cluster.brokers[1].answer = cluster._answer
            asked.writer.close()

        cluster.brokers[1].answer = hang_up_once
        view = await client.persist(lambda: client.look_up(["orders"]))
        assert list(view.topics) == ["orders"]
        assert cluster.brokers[1].connections == 2

    run(test)


def test_bootstrap_takes_the_first_that_answers() -> None:
    async def main() -> None:
        async with asyncio.timeout(60), FakeBroker(lambda asked: asked).serving() as broker:
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                dead = Address(*taken.getsockname())
                async with await Client.connect([dead, broker.address]):
                    assert broker.connections == 1
                with pytest.raises(Unreachable, match="connection refused"):
                    await Client.connect([dead])
                with pytest.raises(NoneReachable, match=r"cannot reach .* refused; cannot reach .* refused"):
                    await Client.connect([dead, dead._replace(host="localhost")])

    asyncio.run(main())


def test_bootstrap_as_text() -> None:
    assert parse_bootstrap("a:1, [::1]:2") == (Address("a", 1), Address("::1", 2))
    with pytest.raises(InvalidConfig, match="must be host:port"):
        parse_bootstrap("a:1,")


def test_pauses_grow_up_to_a_limit_and_differ() -> None:
    pauses = pauses_s(Random(1))
    drawn = [next(pauses) for _ in range(20)]
    assert 0.08 <= drawn[0] <= 0.12
    assert 0.16 <= drawn[1] <= 0.24
    assert all(0.8 * BACKOFF_S_MAX <= pause <= 1.2 * BACKOFF_S_MAX for pause in drawn[4:])
    assert len(set(drawn)) == 20


def test_what_a_refusal_says() -> None:
    assert str(refusal(36, "it is there")) == "it is there (TOPIC_ALREADY_EXISTS)"
    assert str(refusal(36)) == "TOPIC_ALREADY_EXISTS"
    assert str(refusal(9999)) == "error 9999"
    assert refusal(0) is None
    assert Refused(41).is_retriable
    assert not Refused(36).is_retriable
