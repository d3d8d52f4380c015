"""What the driver asks, of brokers that do not make it easy."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, Extent
from odradek.spark.options import source_options
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

ORDERS = TopicPartition("orders", 0)
ORDERS_ID = bytes(range(16))
ENDS = {-1: 42, -2: 7}


class TwoBrokers:
    """Both lead `orders` by turns, and answer as such; requests are dropped while `silent` is above 0."""

    def __init__(self) -> None:
        self.nodes = [FakeBroker(self.answer_of(number)) for number in range(2)]
        self.leader = 0
        self.is_known = True
        self.silent = 0
        self.moves = False
        """The leader changes when it is next asked for offsets."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["TwoBrokers"]:
        async with self.nodes[0].serving(), self.nodes[1].serving():
            yield self

    def cluster(self) -> Cluster:
        servers = ",".join(str(node.address) for node in self.nodes)
        options = {"kafka.bootstrap.servers": servers, "subscribe": "orders", "kafka.request.timeout.ms": "1000"}
        return Cluster(source_options(options, streaming=True))

    def answer_of(self, number: int) -> Callable[[Asked], None]:
        def answer(asked: Asked) -> None:
            if isinstance(asked.request, MetadataRequest):
                asked.reply(self._metadata(asked.request))
            elif isinstance(asked.request, ListOffsetsRequest):
                self._list(number, asked, asked.request)

        return answer

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        brokers = [
            MetadataResponseBroker(node_id=number, host=node.address.host, port=node.address.port)
            for number, node in enumerate(self.nodes)
        ]
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=self.leader, replica_nodes=(0, 1), isr_nodes=(0, 1)
        )
        unknown = MetadataResponseTopic(name="orders", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partitions=())
        known = MetadataResponseTopic(name="orders", topic_id=ORDERS_ID, partitions=(partition,))
        topic = known if self.is_known else unknown
        self.is_known = self.is_known or bool(request.topics)  # the next one that asks
        return MetadataResponse(brokers=tuple(brokers), topics=(topic,) if request.topics else ())

    def _list(self, number: int, asked: Asked, request: ListOffsetsRequest) -> None:
        if self.silent > 0:
            self.silent -= 1
            return
        if self.moves:
            self.leader, self.moves = 1 - self.leader, False
        (wanted,) = request.topics[0].partitions
        told = ListOffsetsPartitionResponse(partition_index=0, offset=ENDS[wanted.timestamp])
        if number != self.leader:
            told = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        asked.reply(ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name="orders", partitions=(told,)),)))


async def extent_of(brokers: TwoBrokers) -> Extent:
    async with brokers.serving():
        cluster = brokers.cluster()
        async with cluster.client:
            return await cluster.extent_at_start()


def expected(leader: int) -> Extent:
    return Extent({ORDERS: 7}, {ORDERS: 42}, {"orders": ORDERS_ID}, {ORDERS: leader})


def test_a_leader_that_moves_while_it_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    brokers = TwoBrokers()
    brokers.moves = True
    assert asyncio.run(extent_of(brokers)) == expected(leader=1)
    (told,) = [each.getMessage() for each in caplog.records if each.name == "odradek.spark.cluster"]
    assert told == "NOT_LEADER_OR_FOLLOWER; it is tried again for 60 s at most"


@pytest.mark.slow
def test_a_broker_that_does_not_answer_in_time_is_asked_again() -> None:
    brokers = TwoBrokers()
    brokers.silent = 2
    assert asyncio.run(extent_of(brokers)) == expected(leader=0)


@pytest.mark.slow
def test_a_topic_that_was_just_made_may_not_be_known_yet() -> None:
    brokers = TwoBrokers()
    brokers.is_known = False
    assert asyncio.run(extent_of(brokers)) == expected(leader=0)
