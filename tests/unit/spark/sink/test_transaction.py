"""What coordinators answer, and what becomes of it."""

import asyncio
from collections.abc import Sequence

import pytest

from odradek.client.client import Client
from odradek.client.setting import ClientSetting
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.spark.sink.errors import CannotWrite
from odradek.spark.sink.transaction import Transaction, join
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponseBroker
from support.fake_broker import Asked, FakeBroker, Hurried

ORDERS = [TopicPartition("orders", number) for number in (0, 1)]
OLD = Transaction("query-0", ProducerId(7), 1, is_old=True)


def join_with(*answers: tuple[ErrorCode, ErrorCode], coordinators: Sequence[int] = ()) -> int:
    """How often a coordinator was asked which gives these codes for the two partitions, one answer after the other.

    `coordinators` are named before node 1 is, which is the only one."""
    left, named = list(answers), [*coordinators]

    def answer(asked: Asked) -> None:
        if isinstance(asked.request, FindCoordinatorRequest):
            node_id = named.pop(0) if named else 1
            found = Coordinator(key="query-0", node_id=node_id, host=broker.address.host, port=broker.address.port)
            asked.reply(FindCoordinatorResponse(coordinators=(found,)))
        elif isinstance(asked.request, AddPartitionsToTxnRequest):
            parts = tuple(
                AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
                for number, code in enumerate(left.pop(0))
            )
            told = AddPartitionsToTxnTopicResult(name="orders", results_by_partition=parts)
            asked.reply(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=(told,)))
        else:
            here = MetadataResponseBroker(node_id=1, host=broker.address.host, port=broker.address.port)
            asked.reply(MetadataResponse(brokers=(here,)))

    async def main() -> None:
        async with broker.serving(), await Client.connect([broker.address], ClientSetting(rng=Hurried())) as client:
            await join(client, OLD, ORDERS)

    broker = FakeBroker(answer)
    asyncio.run(main())
    return len(answers) - len(left)


def test_a_partition_that_is_kept_out_by_another_does_not_hide_why() -> None:
    kept_out, unknown = ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert join_with((kept_out, unknown), (ErrorCode.NONE, ErrorCode.NONE)) == 2
    with pytest.raises(CannotWrite, match="TOPIC_AUTHORIZATION_FAILED"):
        join_with((kept_out, ErrorCode.TOPIC_AUTHORIZATION_FAILED))


def test_a_coordinator_that_has_left_the_cluster_is_looked_for_again() -> None:
    """Brokers are asked by chance, and one may be a moment behind."""
    assert join_with((ErrorCode.NONE, ErrorCode.NONE), coordinators=[2]) == 1
