"""Produce, versions 3 to 13. Versions 0 to 2 are advertised for old clients and refused, as Kafka does it.

The way of a request: the gates (which partitions may be written to; for transactions, their coordinator), each batch to
its partition, and the answer, once what was appended is settled. Two things may come between, and both keep a copy of
the request and hold its connection: a partition that joins its transaction, and a batch that takes a thread to
validate. With acks=all a client says how long it waits for the answer.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.broker.dispatch import LATER, NOT_MINE, Handled
from odradek.broker.late import answer_late
from odradek.broker.partitions.log_validator import TooLongForLoop, one_batch, refuse_zstd
from odradek.broker.partitions.partition import Partition, Validated
from odradek.broker.partitions.validations import Validations
from odradek.broker.producing.pending_produce import LongBatch, PendingProduce, Slot, Topic, failure
from odradek.broker.producing.transactional_produce import OPEN, Gate, GateFor, is_batch_transactional, is_transactional
from odradek.broker.quotas.byte_rates import ByteRates
from odradek.coordinators.errors import for_client
from odradek.model.buffer import Buffer
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, InvalidTopic, NotLeaderOrFollower
from odradek.model.topic_partition import TopicPartition
from odradek.replication.waiters import Wait
from odradek.wire import single_batch
from odradek.wire.messages.produce import (
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
_ACKS = (0, 1, -1)
_ACKS_ALL = -1
_ACKS_WITH_ANSWER = (1, -1)
_new = tuple.__new__
"""Of named tuples, in half the time."""


class Produce:
    def __init__(self, broker: Broker, gate_for: GateFor, rates: ByteRates, validations: Validations) -> None:
        """`gate_for` says of requests with batches of transactions what of them may be written.

        `rates` are those that clients have a quota of.
        """
        self._broker = broker
        self._gate_for = gate_for
        self._rates = rates
        self._validations = validations

    def handle(self, call: Call, request: ProduceRequest) -> Handled:
        if is_transactional(request):
            return self._admit(call, request, partial(self._append_all, call))
        return self._append_all(call, request, OPEN)

    def handle_single(self, call: Call, body: memoryview) -> Handled:
        """Fast path: a request with one batch for one partition where nobody waits; NOT_MINE for any other.

        The gates are those of `handle`. Reading and answering by hand takes 7 us in place of 10.
        """
        version = call.version
        single = single_batch.read(body, version) if version >= single_batch.VERSIONS[0] else None
        if single is None or single.acks not in _ACKS_WITH_ANSWER:
            return NOT_MINE
        try:
            by_id = version >= _BY_ID_SINCE
            topic = self._broker.name_of(bytes(single.topic)) if by_id else str(single.topic, "utf-8")
            partition = self._partition(topic, single.partition)
        except (BrokerError, UnicodeDecodeError):
            return NOT_MINE
        records = single.records
        if not partition.settles_at_once or is_batch_transactional(records):
            return NOT_MINE
        try:
            base_offset, append_time, _ = partition.produce(one_batch(records))
        except TooLongForLoop:
            return NOT_MINE
        except BrokerError as error:
            failed = TopicProduceResponse(
                name="" if by_id else topic,
                topic_id=bytes(single.topic) if by_id else NO_UUID,
                partition_responses=(failure(single.partition, error, partition),),
            )
            return self._throttled(call, ProduceResponse(responses=(failed,)))
        start_offset = partition.log.start_offset
        answer = single_batch.answer(version, call.correlation_id, single, base_offset, append_time, start_offset)
        grant = call.client.grant
        grant.left -= call.size
        is_granted = grant.left >= 0 and grant.client_id == call.client_id
        if not is_granted and (wait_ms := self._throttle(call)):
            answer = single_batch.throttled(answer, wait_ms)
        call.reply.send((answer,))
        return LATER

    # --- gates

    def _partition(self, topic: str, index: int) -> Partition:
        """A partition that clients may write to. What decides on that is asked here, for every batch of theirs."""
        partition = self._broker.partition(topic, index)
        if topic in INTERNAL_TOPICS:
            raise InvalidTopic(f"an invalid topic for this operation: {topic} is written by brokers only")
        return partition

    def _admit(self, call: Call, request: ProduceRequest, then: Callable[[ProduceRequest, Gate], Handled]) -> Handled:
        """Ask the coordinator of a transaction, and go on with its answer.

        What joins the transaction settles before anything is written in it. Then `then` is given a copy of the request.
        """
        gate = self._gate(call.version, request)
        if gate.unsettled is None:
            return then(request, gate)
        copied = _copy(request)

        def finish(error: BrokerError | None) -> Handled:
            if error is not None:
                return then(copied, Gate({}, frozenset(), refusal=for_client(error)))
            # The transaction may have ended meanwhile. If not, what joined is settled, whatever joined after that.
            return then(copied, self._gate(call.version, copied))

        def go_on(errors: Mapping[int, BrokerError]) -> None:
            answer_late(call, partial(finish, errors.get(0)))
            call.client.connection.release(call.size)

        call.client.connection.hold(call.size)
        Wait({0: gate.unsettled}, go_on)
        return LATER

    def _gate(self, version: int, request: ProduceRequest) -> Gate:
        try:
            return self._gate_for(version, request)
        except BrokerError as error:
            return Gate({}, frozenset(), refusal=error)

    # --- appending

    def _append_all(self, call: Call, request: ProduceRequest, gate: Gate) -> Handled:
        pending = PendingProduce(call, request)
        for topic in request.topic_data:
            if topic.partition_data:
                parts = self._append_topic(pending, gate, topic)
                pending.topics.append(_new(Topic, (topic.name, topic.topic_id, parts)))
        if pending.long_batches is not None:
            long_batches, pending.long_batches = pending.long_batches, None
            return self._validate(pending, long_batches)
        return self._answer(pending) if pending.unsettled is None else self._answer_when_settled(pending)

    def _append_topic(
        self, pending: PendingProduce, gate: Gate, topic: TopicProduceData
    ) -> list[PartitionProduceResponse]:
        try:
            if gate.refusal is not None:
                raise gate.refusal
            name = topic.name if pending.call.version < _BY_ID_SINCE else self._broker.name_of(topic.topic_id)
            if pending.request.acks not in _ACKS:
                raise _InvalidAcks(f"invalid value for required acks: {pending.request.acks}")
        except BrokerError as error:
            return [failure(part.index, error) for part in topic.partition_data]
        at = len(pending.topics)
        return [
            self._append(pending, gate, (at, index), TopicPartition(name, part.index), part.records or b"")
            for index, part in enumerate(topic.partition_data)
        ]

    def _append(
        self, pending: PendingProduce, gate: Gate, slot: Slot, place: TopicPartition, records: Buffer
    ) -> PartitionProduceResponse:
        partition, batch, number = None, None, place.partition
        if place in gate.refused:
            return failure(number, gate.refused[place])
        try:
            partition = self._partition(*place)
            batch = one_batch(records)
            if pending.call.version < _ZSTD_SINCE:
                refuse_zstd(batch)
            if pending.long_batches is not None and any(each.place == place for each in pending.long_batches):
                raise TooLongForLoop  # it must not overtake them
            produced = partition.produce(batch, is_joined=place in gate.joined)
        except TooLongForLoop:
            assert partition is not None
            assert batch is not None
            return pending.is_long(LongBatch(slot, place, partition, bytearray(batch)))
        except BrokerError as error:
            return failure(number, error, partition)
        return pending.appended(slot, number, partition, produced)

    # --- batches that are too long for the event loop

    def _validate(self, pending: PendingProduce, long_batches: Sequence[LongBatch]) -> Handled:
        """The connection is held meanwhile, so that the next batch of the producer does not overtake this one."""
        call = pending.call
        pending.forget_records()
        size = sum(len(each.batch) for each in long_batches)
        outcomes: dict[Slot, Validated | Exception] = {}

        def done(slot: Slot, outcome: Validated | Exception) -> None:
            outcomes[slot] = outcome
            if len(outcomes) == len(long_batches):
                answer_late(call, partial(self._append_long, pending, long_batches, outcomes))
                call.client.connection.release(size)

        validations = [(each.slot, each.partition.validation(memoryview(each.batch))) for each in long_batches]
        call.client.connection.hold(size)
        for slot, validation in validations:
            self._validations.run(validation, partial(done, slot))
        return LATER

    def _append_long(
        self, pending: PendingProduce, long_batches: Sequence[LongBatch], outcomes: Mapping[Slot, Validated | Exception]
    ) -> Handled:
        """Transactions are asked about anew: they may have ended meanwhile."""
        valid: list[tuple[LongBatch, Validated]] = []
        for each in long_batches:
            slot, place, partition, _ = each
            outcome = outcomes[slot]
            if isinstance(outcome, BrokerError):
                pending.put(slot, failure(place.partition, outcome, partition))
            elif isinstance(outcome, Exception):
                raise outcome
            else:
                valid.append((each, outcome))
        request = pending.request_of({each.slot: outcome for each, outcome in valid})
        then = partial(self._append_valid, pending, valid)
        return self._admit(pending.call, request, then) if is_transactional(request) else then(request, OPEN)

    def _append_valid(
        self, pending: PendingProduce, valid: Sequence[tuple[LongBatch, Validated]], _: ProduceRequest, gate: Gate
    ) -> Handled:
        for (slot, place, partition, _batch), (batch, head) in valid:
            refusal = gate.refusal or gate.refused.get(place)
            try:
                if refusal is not None:
                    raise refusal
                if self._partition(*place) is not partition:
                    raise NotLeaderOrFollower(f"{place} was made anew")
                produced = partition.append_validated(batch, head, place in gate.joined)
            except BrokerError as error:
                part = failure(place.partition, error, partition if refusal is None else None)
            else:
                part = pending.appended(slot, place.partition, partition, produced)
            pending.put(slot, part)
        return self._answer_when_settled(pending)

    # --- the answer

    def _answer_when_settled(self, pending: PendingProduce) -> Handled:
        """Acks 0 and 1 wait as well, for as long as it takes: it is only a sync, which Kafka does within the append."""
        call = pending.call
        if pending.unsettled is None:
            return self._answer(pending)
        pending.forget_records()

        def answer(errors: Mapping[Slot, BrokerError]) -> None:
            call.client.connection.no_longer_when_closed(wait.cancel)
            pending.fail(errors)
            answer_late(call, partial(self._answer, pending))

        wait = Wait(
            pending.unsettled, answer, pending.request.timeout_ms if pending.request.acks == _ACKS_ALL else None
        )
        call.client.connection.when_closed(wait.cancel)
        return LATER

    def _answer(self, pending: PendingProduce) -> ProduceResponse | None:
        """Without acknowledgement a client is held back all the same, and not told."""
        response = self._throttled(pending.call, pending.response())
        if pending.request.acks != 0:
            return response
        if any(part.error_code for topic in response.responses for part in topic.partition_responses):
            pending.call.reply.refuse("a produce request without acknowledgement failed")  # all that can be told
        return None

    def _throttle(self, call: Call) -> int:
        """For how many ms, as its quota asks for it: the grant is used up, or is another client id's."""
        wait_ms = self._rates.renew(call, call.client.grant, call.size)
        if wait_ms:
            call.client.connection.mute(wait_ms)
        return wait_ms

    def _throttled(self, call: Call, response: ProduceResponse) -> ProduceResponse:
        grant = call.client.grant
        grant.left -= call.size
        is_granted = grant.left >= 0 and grant.client_id == call.client_id
        wait_ms = 0 if is_granted else self._throttle(call)
        return replace(response, throttle_time_ms=wait_ms) if wait_ms else response


class _InvalidAcks(BrokerError):
    code = ErrorCode.INVALID_REQUIRED_ACKS


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
