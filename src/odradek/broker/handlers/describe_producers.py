"""DescribeProducers, version 0: what a partition remembers of its producers."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.controller.topic_names import check_name
from odradek.model.errors import BrokerError
from odradek.storage.producer_state import Producer
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

VERSIONS = (0, 0)


class DescribeProducers:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, _call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse:
        topics = tuple(
            TopicResponse(
                name=topic.name,
                partitions=tuple(self._describe(topic.name, index) for index in topic.partition_indexes),
            )
            for topic in request.topics
        )
        return DescribeProducersResponse(topics=topics)

    def _describe(self, topic: str, index: int) -> PartitionResponse:
        try:
            check_name(topic)
            log = self._broker.partition(topic, index).log
        except BrokerError as error:
            return PartitionResponse(
                partition_index=index, error_code=error.code, error_message=str(error), active_producers=()
            )
        return PartitionResponse(partition_index=index, active_producers=tuple(map(_state, log.producers)))


def _state(producer: Producer) -> ProducerState:
    return ProducerState(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.txn_first_offset,
    )
