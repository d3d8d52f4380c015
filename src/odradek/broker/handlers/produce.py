"""Produce, versions 3 to 13. Versions 0 to 2 are advertised for old clients and refused, as Kafka does it.

Acks 0, 1 and all are the same here but for the answer: there is one replica, and an append has reached it when it is
done. Transactional batches are taken as they come, since there is no coordinator yet.
"""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.dispatch import Handled
from odradek.broker.internal_topics import INTERNAL_TOPICS
from odradek.broker.partition import Partition
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, CorruptBatch, InvalidRecord, InvalidTopic, StorageFailed
from odradek.model.numbers import NO_OFFSET
from odradek.records.batch import LOG_OVERHEAD
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

VERSIONS = (0, 13)
_ACKS = (0, 1, -1)


class Produce:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: ProduceRequest) -> Handled:
        touched: list[Partition] = []
        answers = tuple(self._produce_topic(topic, request.acks, touched) for topic in request.topic_data)
        response = ProduceResponse(responses=answers)
        waiting = [each.log for each in touched if each.log.unflushed_records >= each.log.config.flush_messages]
        if waiting:
            return self._answer_when_synced(call, request, response, touched)
        return self._answer(call, request, response)

    def _answer(self, call: Call, request: ProduceRequest, response: ProduceResponse) -> ProduceResponse | None:
        if request.acks != 0:
            return response
        if any(part.error_code for topic in response.responses for part in topic.partition_responses):
            call.connection.close("a produce request without acknowledgement failed")  # all that can be told
        return None

    async def _answer_when_synced(
        self, call: Call, request: ProduceRequest, response: ProduceResponse, touched: list[Partition]
    ) -> ProduceResponse | None:
        try:
            for partition in touched:
                await self._broker.flusher.settle(partition.log)
        except StorageFailed as error:
            failed = tuple(
                TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=tuple(_failure(part.index, error) for part in topic.partition_responses),
                )
                for topic in response.responses
            )
            response = ProduceResponse(responses=failed)
        return self._answer(call, request, response)

    def _produce_topic(self, topic: TopicProduceData, acks: int, touched: list[Partition]) -> TopicProduceResponse:
        try:
            name = topic.name or self._broker.name_of(topic.topic_id)
            if acks not in _ACKS:
                raise _InvalidAcks(f"acks {acks}")
            if name in INTERNAL_TOPICS:
                raise InvalidTopic(f"{name} is written by brokers only")
        except BrokerError as error:
            parts = tuple(_failure(part.index, error) for part in topic.partition_data)
        else:
            parts = tuple(self._produce_partition(name, part, touched) for part in topic.partition_data)
        return TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=parts)

    def _produce_partition(
        self, topic: str, data: PartitionProduceData, touched: list[Partition]
    ) -> PartitionProduceResponse:
        try:
            partition = self._broker.partition(topic, data.index)
            produced = partition.produce(_one_batch(data))
        except BrokerError as error:
            return _failure(data.index, error)
        touched.append(partition)
        return PartitionProduceResponse(
            index=data.index,
            base_offset=produced.base_offset,
            log_append_time_ms=produced.append_time,
            log_start_offset=partition.log.start_offset,
        )


class _InvalidAcks(BrokerError):
    code = ErrorCode.INVALID_REQUIRED_ACKS


def _one_batch(data: PartitionProduceData) -> memoryview:
    """The single batch that a client sends for a partition, as a view that can be stamped."""
    records = data.records
    if not records:
        raise InvalidRecord("no batch for a partition")
    view = memoryview(records)
    if len(view) >= LOG_OVERHEAD:
        size = int.from_bytes(view[8:12], "big", signed=True) + LOG_OVERHEAD
        if LOG_OVERHEAD < size < len(view):
            raise InvalidRecord("more than one batch for a partition")
    if view.readonly:
        raise CorruptBatch("a batch that cannot be stamped")
    return view


def _failure(index: int, error: BrokerError) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error.code, base_offset=NO_OFFSET, error_message=str(error))
