"""`__transaction_state`: made on demand, and what it holds when power fails."""

import asyncio
from pathlib import Path

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_TIMESTAMP, Offset, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.process.machine import Machine
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.raw_client import RawClient
from support.reading import read_partition
from support.running_node import create_topic, node_on

TOPIC = 2
FEW = BrokerConfig(transaction_state_log_num_partitions=3)


async def find(client: RawClient) -> int:
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=("shop",))
    return (await client.ask(request, FindCoordinatorResponse, 6)).coordinators[0].error_code


async def init(client: RawClient) -> InitProducerIdResponse:
    request = InitProducerIdRequest(transactional_id="shop", transaction_timeout_ms=60_000)
    return await client.ask(request, InitProducerIdResponse, 5)


async def state(client: RawClient) -> str:
    """Waits while the coordinator loads, and while it ends what was decided."""
    while True:
        request = DescribeTransactionsRequest(transactional_ids=("shop",))
        found = (await client.ask(request, DescribeTransactionsResponse, 0)).transaction_states[0]
        if found.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            assert found.error_code == ErrorCode.NONE
            if not found.transaction_state.startswith("Prepare"):
                return found.transaction_state


def test_it_is_made_for_the_first_client_that_looks_for_its_coordinator(tmp_path: Path) -> None:
    async def main() -> dict[str, str | None]:
        async with node_on(tmp_path) as client:
            assert (await init(client)).error_code == ErrorCode.NOT_COORDINATOR
            assert await find(client) == ErrorCode.NONE
            assert (await init(client)).error_code == ErrorCode.NONE
            resource = DescribeConfigsResource(
                resource_type=TOPIC, resource_name="__transaction_state", configuration_keys=None
            )
            told = await client.ask(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse, 4)
            return {each.name: each.value for each in told.results[0].configs if each.config_source == 1}

    assert asyncio.run(main()) == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


def test_a_request_for_no_transactions_is_answered(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            answer = await client.ask(AddPartitionsToTxnRequest(), AddPartitionsToTxnResponse, 5)
            assert (answer.error_code, answer.results_by_transaction) == (ErrorCode.NONE, ())

    asyncio.run(main())


def test_batches_that_wait_for_their_partition_to_join_are_written_as_they_came(tmp_path: Path) -> None:
    """With flush.messages=1 that is synced first, and meanwhile other requests come."""
    topics = [f"t{number}" for number in range(5)]

    async def main() -> list[list[bytes | None]]:
        defaults = TopicConfig(flush_messages=1, segment_bytes=1 << 20)
        node = await Node.start(NodeSetting(directories=[str(tmp_path)], port=0, config=FEW, topic_defaults=defaults))
        client = await RawClient.connect(*node.address)
        try:
            for topic in topics:
                assert await create_topic(client, topic) == ErrorCode.NONE
            assert await find(client) == ErrorCode.NONE
            who = await init(client)
            for topic in topics:
                client.send(produce(topic, who), 12)
            for _ in topics:
                answer = await client.receive(ProduceResponse, 12)
                assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
            return [[each.value for each in (await read_partition(client, topic)).records] for topic in topics]
        finally:
            await client.close()
            await node.stop()

    assert asyncio.run(main()) == [[topic.encode() * 100] for topic in topics]


def produce(topic: str, who: InitProducerIdResponse) -> ProduceRequest:
    spec = BatchSpec(
        producer_id=ProducerId(who.producer_id),
        producer_epoch=who.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    batch = build_batch([Record(Offset(0), NO_TIMESTAMP, None, topic.encode() * 100)], spec)
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=batch),))
    return ProduceRequest(transactional_id="shop", acks=-1, timeout_ms=1000, topic_data=(data,))


def test_what_was_answered_is_there_after_power_was_lost() -> None:
    """With flush.messages=1. A transaction that was decided is complete, also in its partitions."""
    disk = FaultyDisk()
    setting = NodeSetting(
        directories=["/data"], port=0, config=FEW, topic_defaults=TopicConfig(flush_messages=1, segment_bytes=1 << 20)
    )

    async def before() -> None:
        node = await Node.start(setting, Machine(disk, ManualClock(), children=0))
        client = await RawClient.connect(*node.address)
        try:
            assert await create_topic(client, "orders") == ErrorCode.NONE
            assert await find(client) == ErrorCode.NONE
            told = await init(client)
            added = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="shop",
                v3_and_below_producer_id=told.producer_id,
                v3_and_below_producer_epoch=told.producer_epoch,
                v3_and_below_topics=(AddPartitionsToTxnTopic(name="orders", partitions=(0,)),),
            )
            answer = await client.ask(added, AddPartitionsToTxnResponse, 3)
            code = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            assert code == ErrorCode.NONE
            who = {"producer_id": told.producer_id, "producer_epoch": told.producer_epoch}
            ended = EndTxnRequest(transactional_id="shop", committed=True, **who)
            assert (await client.ask(ended, EndTxnResponse, 5)).error_code == ErrorCode.NONE
        finally:
            await client.close()
            disk.power_loss()
            await node.abandon()

    async def after() -> str:
        node = await Node.start(setting, Machine(disk, ManualClock(), children=0))
        client = await RawClient.connect(*node.address)
        try:
            return await state(client)
        finally:
            await client.close()
            await node.stop()

    asyncio.run(before())
    assert asyncio.run(after()) == "CompleteCommit"
