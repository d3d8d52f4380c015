"""A produce request on its way from its handler to its answer."""

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from odradek.broker.call import Call
from odradek.broker.partitions.log_validator import RECORD_ERRORS_MAX, NotOneBatch
from odradek.broker.partitions.partition import Partition, Produced, Validated
from odradek.model.errors import (
    BatchTooLarge,
    BrokerError,
    CorruptBatch,
    InvalidTopic,
    MessageTooLarge,
    RecordsRefused,
    StorageFailed,
    UnsupportedCodec,
)
from odradek.model.numbers import NO_OFFSET
from odradek.model.topic_partition import TopicPartition
from odradek.replication.waiters import RequestTimedOut, Unsettled
from odradek.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.wire.schema import replace

Slot = tuple[int, int]
"""The place of a partition in a request: the index of its topic, and its index there."""

_UNREAD = (InvalidTopic, CorruptBatch, NotOneBatch, UnsupportedCodec, MessageTooLarge, BatchTooLarge, StorageFailed)


class LongBatch(NamedTuple):
    """A copy of a batch that a thread validates."""

    slot: Slot
    place: TopicPartition
    partition: Partition
    batch: bytearray


class Topic(NamedTuple):
    name: str
    id: bytes
    parts: list[PartitionProduceResponse]
    """What is answered of its partitions."""


class PendingProduce:
    """A request on its way to its answer. Once it waits, it is without the records that came in it."""

    __slots__ = ("call", "long_batches", "request", "topics", "unsettled")

    def __init__(self, call: Call, request: ProduceRequest) -> None:
        self.call = call
        self.request = request
        self.topics: list[Topic] = []
        self.unsettled: dict[Slot, Unsettled] | None = None
        self.long_batches: list[LongBatch] | None = None

    def appended(self, slot: Slot, number: int, partition: Partition, produced: Produced) -> PartitionProduceResponse:
        """A batch is in the log. Who sent it hears of it when it is settled."""
        base_offset, append_time, next_offset = produced
        log = partition.log
        if log.high_watermark < next_offset:
            if self.unsettled is None:
                self.unsettled = {}
            self.unsettled[slot] = Unsettled(partition.waiters, next_offset)
        return PartitionProduceResponse(
            index=number, base_offset=base_offset, log_append_time_ms=append_time, log_start_offset=log.start_offset
        )

    def is_long(self, batch: LongBatch) -> PartitionProduceResponse:
        """It is to be validated by a thread. Returns what is answered of it for now."""
        if self.long_batches is None:
            self.long_batches = []
        self.long_batches.append(batch)
        return PartitionProduceResponse(index=batch.place.partition, base_offset=NO_OFFSET)

    def forget_records(self) -> None:
        """They lie in a buffer that is used again."""
        self.request = replace(self.request, topic_data=())

    def put(self, slot: Slot, part: PartitionProduceResponse) -> None:
        topic, index = slot
        self.topics[topic].parts[index] = part

    def fail(self, errors: Mapping[Slot, BrokerError]) -> None:
        """What was appended did not settle."""
        for slot, error in errors.items():
            topic, index = slot
            part = self.topics[topic].parts[index]
            is_late = isinstance(error, RequestTimedOut)  # then Kafka tells the offset all the same
            self.put(slot, replace(part, error_code=error.code) if is_late else failure(part.index, error))

    def response(self) -> ProduceResponse:
        return ProduceResponse(
            responses=tuple(
                [
                    TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=tuple(parts))
                    for name, topic_id, parts in self.topics
                ]
            )
        )

    def request_of(self, batches: Mapping[Slot, Validated]) -> ProduceRequest:
        """As if the client had sent these batches alone."""
        data = (
            (self.topics[at], self.topics[at].parts[index].index, batch) for (at, index), (batch, _) in batches.items()
        )
        return ProduceRequest(
            transactional_id=self.request.transactional_id,
            acks=self.request.acks,
            timeout_ms=self.request.timeout_ms,
            topic_data=tuple(
                TopicProduceData(
                    name=topic.name,
                    topic_id=topic.id,
                    partition_data=(PartitionProduceData(index=number, records=batch),),
                )
                for topic, number, batch in data
            ),
        )


def failure(index: int, error: BrokerError, partition: Partition | None = None) -> PartitionProduceResponse:
    """With the start of the log where Kafka tells it: where the batch could be read, and was refused."""
    could_be_read = partition is not None and not isinstance(error, _UNREAD)
    indexes = error.indexes if isinstance(error, RecordsRefused) else ()
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=NO_OFFSET,
        log_start_offset=partition.log.start_offset if partition is not None and could_be_read else NO_OFFSET,
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=str(error))
            for at in islice(indexes, RECORD_ERRORS_MAX)
        ),
        error_message=str(error),
    )
