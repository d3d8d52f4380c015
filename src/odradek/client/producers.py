"""Producers as partitions remember them, and the markers that end their transactions there."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import ClientError, refusal
from odradek.client.leaders import ask_leaders
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_PARTITIONS_MAX = 500
"""In one request: each may have many producers."""
_NO_TRANSACTION = -1


@dataclass(frozen=True, slots=True)
class ProducerView:
    producer_id: ProducerId
    epoch: int
    coordinator_epoch: int
    """Of the last marker; -1 if there was none."""
    last_sequence: int
    last_timestamp: TimestampMs
    open_from: Offset | None
    """Where its open transaction begins."""


Producers = tuple[ProducerView, ...]


async def describe_producers(
    client: Client, partitions: Collection[TopicPartition], node_id: int | None = None
) -> dict[TopicPartition, Producers | ClientError]:
    """As the leaders know them, or as one node does, in the order of their ids."""

    async def ask(
        leader: int, led: Mapping[TopicPartition, PartitionView]
    ) -> Mapping[TopicPartition, Producers | ClientError]:
        found: dict[TopicPartition, Producers | ClientError] = {}
        mine = list(led)
        for at in range(0, len(mine), _PARTITIONS_MAX):
            request = DescribeProducersRequest(topics=_topics(mine[at : at + _PARTITIONS_MAX]))
            response = await client.ask_node(leader if node_id is None else node_id, request, DescribeProducersResponse)
            found |= {
                TopicPartition(topic.name, each.partition_index): refusal(each.error_code, each.error_message)
                or tuple(sorted(map(_read, each.active_producers), key=lambda producer: producer.producer_id))
                for topic in response.topics
                for each in topic.partitions
            }
        return found

    return await ask_leaders(client, partitions, ask)


def _topics(partitions: Collection[TopicPartition]) -> tuple[TopicRequest, ...]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return tuple(TopicRequest(name=name, partition_indexes=tuple(numbers)) for name, numbers in topics.items())


def _read(state: ProducerState) -> ProducerView:
    start = state.current_txn_start_offset
    return ProducerView(
        ProducerId(state.producer_id),
        state.producer_epoch,
        state.coordinator_epoch,
        state.last_sequence,
        TimestampMs(state.last_timestamp),
        None if start == _NO_TRANSACTION else Offset(start),
    )


@dataclass(frozen=True, slots=True)
class AbortMarker:
    producer_id: ProducerId
    epoch: int
    coordinator_epoch: int


async def write_abort(client: Client, partition: TopicPartition, marker: AbortMarker) -> ClientError | None:
    """Ends a transaction in one partition, whatever its coordinator thinks of it."""

    async def ask(leader: int, led: Mapping[TopicPartition, PartitionView]) -> dict[TopicPartition, ClientError | None]:
        written = WritableTxnMarker(
            producer_id=marker.producer_id,
            producer_epoch=marker.epoch,
            transaction_result=False,
            topics=(WritableTxnMarkerTopic(name=partition.topic, partition_indexes=(partition.partition,)),),
            coordinator_epoch=marker.coordinator_epoch,
        )
        response = await client.ask_leader(leader, WriteTxnMarkersRequest(markers=(written,)), WriteTxnMarkersResponse)
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
            for result in response.markers
            for topic in result.topics
            for each in topic.partitions
        }

    return (await ask_leaders(client, [partition], ask))[partition]
