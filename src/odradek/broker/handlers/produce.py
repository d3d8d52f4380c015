"""Produce, versions 3 to 13. Versions 0 to 2 are advertised for old clients and refused, as Kafka does it.

Acks 0, 1 and all are the same here but for the answer: there is one replica, and an append has reached it when it is
done. What may be written in a transaction is a matter of `odradek.broker.transactional_produce`.
"""

from collections.abc import Awaitable
from struct import Struct

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.dispatch import LATER, NOT_MINE, Handled
from odradek.broker.internal_topics import INTERNAL_TOPICS
from odradek.broker.partition import Partition
from odradek.broker.quotas.byte_rates import ByteRates
from odradek.broker.transactional_produce import (
    OPEN,
    Gate,
    GateFor,
    is_batch_transactional,
    is_transactional,
)
from odradek.model.buffer import Buffer
from odradek.model.error_code import ErrorCode
from odradek.model.errors import (
    BatchTooLarge,
    BrokerError,
    CorruptBatch,
    InvalidRecord,
    InvalidTopic,
    MessageTooLarge,
    RecordsRefused,
    StorageFailed,
    UnsupportedCodec,
)
from odradek.model.numbers import NO_OFFSET
from odradek.model.settings import LONG_MAX
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import LOG_OVERHEAD, MAGIC_AT, Codec
from odradek.storage.log import Log
from odradek.wire import single_batch
from odradek.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.wire.schema import NO_UUID, replace

VERSIONS = (0, 13)
_ZSTD_SINCE = 7
_BY_ID_SINCE = 13
_LENGTH = Struct(">i")
_LENGTH_AT = 8
_LENGTH_LEAST = 14
"""That of a record in the oldest format."""
_CODEC_AT = 22
"""Where a batch says how it is compressed."""
_ACKS = (0, 1, -1)
_ACKS_WITH_ANSWER = (1, -1)

_Unsynced = tuple[PartitionProduceResponse, Log]
"""What is answered of a partition once its log is synced."""


class Produce:
    def __init__(self, broker: Broker, gate_for: GateFor, rates: ByteRates) -> None:
        """`gate_for` says of requests with batches of transactions what of them may be written.

        `rates` are those that clients have a quota of.
        """
        self._broker = broker
        self._gate_for = gate_for
        self._rates = rates

    def handle(self, call: Call, request: ProduceRequest) -> Handled:
        if not is_transactional(request):
            return self._produce(call, request, OPEN)
        try:
            gate = self._gate_for(call.version, request)
        except BrokerError as error:
            return self._answer(call, request, _refusal(request, error))
        if gate.settled is None:
            return self._produce(call, request, gate)
        return self._produce_when_settled(call, _copy(request), gate.settled)

    async def _produce_when_settled(
        self, call: Call, request: ProduceRequest, settled: Awaitable[None]
    ) -> ProduceResponse | None:
        """What joined the transaction is synced before anything is written in it."""
        try:
            await settled
            # The transaction may have ended meanwhile. If not, what joined is synced, whatever joined after that.
            gate = self._gate_for(call.version, request)
        except BrokerError as error:
            return self._answer(call, request, _refusal(request, error))
        produced = self._produce(call, request, gate)
        return await produced if isinstance(produced, Awaitable) else produced

    def _produce(
        self, call: Call, request: ProduceRequest, gate: Gate
    ) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
        work = _Work(gate, call.version >= _ZSTD_SINCE)
        answers = [
            self._produce_topic(call.version, topic, request.acks, work)
            for topic in request.topic_data
            if topic.partition_data
        ]
        response = ProduceResponse(responses=tuple(answers))
        if work.unsynced:
            return self._answer_when_synced(call, request, response, work.unsynced)
        return self._answer(call, request, response)

    def handle_single(self, call: Call, body: memoryview) -> Handled:
        """A request with one batch for one partition of a topic that needs no sync; NOT_MINE for any other."""
        version = call.version
        single = single_batch.read(body, version) if version >= single_batch.VERSIONS[0] else None
        if single is None or single.acks not in _ACKS_WITH_ANSWER:
            return NOT_MINE
        try:
            by_id = version >= _BY_ID_SINCE
            topic = self._broker.name_of(bytes(single.topic)) if by_id else str(single.topic, "utf-8")
            partition = self._broker.partition(topic, single.partition)
        except (BrokerError, UnicodeDecodeError):
            return NOT_MINE
        log, records = partition.log, single.records
        if topic in INTERNAL_TOPICS or log.config.flush_messages != LONG_MAX or is_batch_transactional(records):
            return NOT_MINE
        try:
            base_offset, append_time = partition.produce(_one_batch(records))
        except BrokerError as error:
            failed = TopicProduceResponse(
                name="" if by_id else topic,
                topic_id=bytes(single.topic) if by_id else NO_UUID,
                partition_responses=(_failure(single.partition, error, partition),),
            )
            return self._throttled(call, ProduceResponse(responses=(failed,)))
        answer = single_batch.answer(version, call.correlation_id, single, base_offset, append_time, log.start_offset)
        connection = call.connection
        connection.left -= call.size
        is_granted = connection.left >= 0 and connection.granted_to == call.client_id
        if not is_granted and (wait_ms := self._hold_back(call)):
            answer = single_batch.throttled(answer, wait_ms)
        call.reply.send((answer,))
        return LATER

    def _hold_back(self, call: Call) -> int:
        """For how many ms, as its quota asks for it: what was granted is used up, or is another client's."""
        connection = call.connection
        wait_ms = self._rates.renew(call, connection, call.size)
        if wait_ms:
            connection.hold_back(wait_ms)
        return wait_ms

    def _throttled(self, call: Call, response: ProduceResponse) -> ProduceResponse:
        connection = call.connection
        connection.left -= call.size
        is_granted = connection.left >= 0 and connection.granted_to == call.client_id
        wait_ms = 0 if is_granted else self._hold_back(call)
        return replace(response, throttle_time_ms=wait_ms) if wait_ms else response

    def _answer(self, call: Call, request: ProduceRequest, response: ProduceResponse) -> ProduceResponse | None:
        """Without acknowledgement a client is held back all the same, and not told."""
        response = self._throttled(call, response)
        if request.acks != 0:
            return response
        if any(part.error_code for topic in response.responses for part in topic.partition_responses):
            call.reply.refuse("a produce request without acknowledgement failed")  # all that can be told
        return None

    async def _answer_when_synced(
        self, call: Call, request: ProduceRequest, response: ProduceResponse, unsynced: list[_Unsynced]
    ) -> ProduceResponse | None:
        failed: dict[int, StorageFailed] = {}
        for part, log in unsynced:
            try:
                await self._broker.flusher.settle(log)
            except StorageFailed as error:
                failed[id(part)] = error
        if failed:
            told = tuple(
                replace(
                    topic,
                    partition_responses=tuple(
                        _failure(part.index, failed[id(part)]) if id(part) in failed else part
                        for part in topic.partition_responses
                    ),
                )
                for topic in response.responses
            )
            response = ProduceResponse(responses=told)
        return self._answer(call, request, response)

    def _produce_topic(self, version: int, topic: TopicProduceData, acks: int, work: "_Work") -> TopicProduceResponse:
        try:
            name = topic.name if version < _BY_ID_SINCE else self._broker.name_of(topic.topic_id)
            if acks not in _ACKS:
                raise _InvalidAcks(f"invalid value for required acks: {acks}")
        except BrokerError as error:
            parts = [_failure(part.index, error) for part in topic.partition_data]
        else:
            parts = [self._produce_partition(name, part, work) for part in topic.partition_data]
        return TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=tuple(parts))

    def _produce_partition(self, topic: str, data: PartitionProduceData, work: "_Work") -> PartitionProduceResponse:
        partition = None
        gate, place = work.gate, TopicPartition(topic, data.index)
        if place in gate.refused:
            return _failure(data.index, gate.refused[place])
        try:
            partition = self._broker.partition(topic, data.index)
            if topic in INTERNAL_TOPICS:
                raise InvalidTopic(f"an invalid topic for this operation: {topic} is written by brokers only")
            batch = _one_batch(data.records or b"")
            if not work.has_zstd and len(batch) > _CODEC_AT and batch[_CODEC_AT] & 7 == Codec.ZSTD:
                raise UnsupportedCodec(f"zstd comes with version {_ZSTD_SINCE}")
            base_offset, append_time = partition.produce(batch, is_joined=place in gate.joined)
        except BrokerError as error:
            return _failure(data.index, error, partition)
        log = partition.log
        answer = PartitionProduceResponse(
            index=data.index,
            base_offset=base_offset,
            log_append_time_ms=append_time,
            log_start_offset=log.start_offset,
        )
        if log.end_offset - log.recovery_point >= log.config.flush_messages:
            work.unsynced.append((answer, log))
        return answer


class _Work:
    """What the partitions of a request have in common."""

    __slots__ = ("gate", "has_zstd", "unsynced")

    def __init__(self, gate: Gate, has_zstd: bool) -> None:
        self.gate = gate
        self.has_zstd = has_zstd
        self.unsynced: list[_Unsynced] = []


class _InvalidAcks(BrokerError):
    code = ErrorCode.INVALID_REQUIRED_ACKS


class _NotOneBatch(InvalidRecord):
    """What came for a partition is not one whole batch: none of it is looked at."""


def _one_batch(records: Buffer) -> memoryview:
    """The single batch that a client sends for a partition, as a view that can be stamped.

    What follows it and is no batch is left out, as by Kafka.
    """
    view = records if isinstance(records, memoryview) else memoryview(records)
    size = _size_of_batch(view)
    if size is None:
        raise _NotOneBatch("no whole batch for a partition")
    if len(view) != size:
        if _size_of_batch(view[size:]) is not None:
            raise _NotOneBatch("more than one batch for a partition")
        view = view[:size]
    if view.readonly:
        raise CorruptBatch("a batch that cannot be stamped")
    return view


def _size_of_batch(view: memoryview) -> int | None:
    """None where it is not all there."""
    if len(view) < MAGIC_AT + 1:
        return None
    (length,) = _LENGTH.unpack_from(view, _LENGTH_AT)
    if length < _LENGTH_LEAST:
        raise CorruptBatch(f"record size {length} is less than the head of a batch")
    return length + LOG_OVERHEAD if length + LOG_OVERHEAD <= len(view) else None


_UNREAD = (InvalidTopic, CorruptBatch, _NotOneBatch, UnsupportedCodec, MessageTooLarge, BatchTooLarge, StorageFailed)


def _copy(request: ProduceRequest) -> ProduceRequest:
    """With records of its own: those that came are in a buffer that is used again."""
    return replace(
        request,
        topic_data=tuple(
            replace(
                topic,
                partition_data=tuple(
                    PartitionProduceData(index=part.index, records=part.records and bytearray(part.records))
                    for part in topic.partition_data
                ),
            )
            for topic in request.topic_data
        ),
    )


def _refusal(request: ProduceRequest, error: BrokerError) -> ProduceResponse:
    """Of all that it asks for."""
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(_failure(part.index, error) for part in topic.partition_data),
            )
            for topic in request.topic_data
            if topic.partition_data
        )
    )


def _failure(index: int, error: BrokerError, partition: Partition | None = None) -> PartitionProduceResponse:
    """With the start of the log where Kafka tells it: where the batch could be read, and was refused."""
    could_be_read = partition is not None and not isinstance(error, _UNREAD)
    indexes = error.indexes if isinstance(error, RecordsRefused) else ()
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=NO_OFFSET,
        log_start_offset=partition.log.start_offset if partition is not None and could_be_read else NO_OFFSET,
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=str(error)) for at in indexes
        ),
        error_message=str(error),
    )
