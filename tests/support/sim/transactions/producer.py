"""A transactional producer by the messages of the protocol, as Kafka's own and librdkafka go about it.

What may be tried again is tried again, for lost answers too. Otherwise the transaction is to be aborted, or the
producer cannot go on at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_PRODUCER_ID, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.records.builder import BatchSpec
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.schema import Message
from support.sim.groups.consumer import Claim
from support.sim.groups.requests import by_topic
from support.sim.line import Line
from support.sim.process import Process
from support.sim.script import Script, ask, pause
from support.sim.transactions.errors import (
    Abortable,
    Fatal,
    check_later,
    check_later_when_producing,
    error_in,
)
from support.sim.transactions.flow import Flow
from support.sim.transactions.lines import Lines
from support.sim.transactions.values import Value, batch_of

_TIMEOUT_MS = 3_000
_BACKOFF_MS = 50
_DELIVERY_MS = 12_000
"""For how long a batch is sent again and again."""

_GENERATIONS_SINCE = 3
_AGAIN_SINCE = 3


class Producer:
    def __init__(self, process: Process, lines: Lines, flow: Flow, timeout_ms: int) -> None:
        self._process = process
        self._lines = lines
        self._flow = flow
        self._timeout_ms = timeout_ms
        self._producer_id = NO_PRODUCER_ID
        self._epoch = -1
        self._sequences: dict[TopicPartition, int] = {}
        self._joined: dict[TopicPartition | str, None] = {}
        """Partitions, and the group, that the coordinator was told of."""

    @property
    def transactional_id(self) -> str:
        return self._lines.transactional_id

    def init(self, *, again: bool = False) -> Script[None]:
        """Take the transactional id; `again` where this producer has it, and wants an epoch without a past."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=self._producer_id if again else NO_PRODUCER_ID,
            producer_epoch=self._epoch if again else -1,
        )
        response = yield from self._insist(self._lines.coordinator, request, self._flow.init)
        self._become(response.producer_id, response.producer_epoch)

    def produce(self, topic: str, values: Mapping[int, Sequence[Value]]) -> Script[None]:
        """Values by partition, in one request. Raises Abortable or Fatal."""
        places = [TopicPartition(topic, number) for number in values]
        if not self._flow.joins:
            yield from self._add_partitions(places)
        left = dict(values)
        until_ms = self._process.now_ms + _DELIVERY_MS
        while left:
            if self._process.now_ms > until_ms:
                raise Abortable("batches could not be delivered")
            self._joined.update(dict.fromkeys(places))
            response = yield from ask(self._lines.leader, self._batches(topic, left), self._flow.produce, _TIMEOUT_MS)
            if response is not None:
                self._note_produced(topic, left, response)
            if left:
                yield from pause(self._process, _BACKOFF_MS)

    def send_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int], claim: Claim) -> Script[None]:
        """Raises Abortable or Fatal."""
        if not self._flow.joins and group_id not in self._joined:
            add = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                group_id=group_id,
            )
            yield from self._insist(self._lines.coordinator, add, self._flow.add_offsets)
        self._joined[group_id] = None
        knows_members = self._flow.offsets >= _GENERATIONS_SINCE
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            generation_id=claim.epoch if knows_members else -1,
            member_id=claim.member_id if knows_members else "",
            topics=_offsets(offsets),
        )
        yield from self._insist(self._lines.groups, request, self._flow.offsets)

    def end(self, *, commit: bool) -> Script[None]:
        """Raises Fatal; then a commit may have happened or not."""
        if not self._joined:
            return
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=commit,
        )
        response = yield from self._insist(self._lines.coordinator, request, self._flow.end)
        self._joined.clear()
        if self._flow.joins:
            self._become(response.producer_id, response.producer_epoch)
        elif not commit:
            # What became of the last batches, and of their numbers, is not known.
            if self._flow.init < _AGAIN_SINCE:
                raise Fatal("it cannot begin anew")
            yield from self.init(again=True)

    def _become(self, producer_id: int, epoch: int) -> None:
        self._producer_id, self._epoch = ProducerId(producer_id), epoch
        self._sequences.clear()
        self._joined.clear()

    def _add_partitions(self, places: Iterable[TopicPartition]) -> Script[None]:
        new = [each for each in places if each not in self._joined]
        if not new:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=tuple(
                AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in by_topic(new).items()
            ),
        )
        yield from self._insist(self._lines.coordinator, request, self._flow.add_partitions)
        self._joined.update(dict.fromkeys(new))

    def _batches(self, topic: str, values: Mapping[int, Sequence[Value]]) -> ProduceRequest:
        data = tuple(
            PartitionProduceData(index=number, records=batch_of(some, self._spec(TopicPartition(topic, number))))
            for number, some in values.items()
        )
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=_TIMEOUT_MS,
            topic_data=(TopicProduceData(name=topic, partition_data=data),),
        )

    def _spec(self, place: TopicPartition) -> BatchSpec:
        return BatchSpec(
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=self._sequences.get(place, 0),
            transactional=True,
        )

    def _note_produced(self, topic: str, left: dict[int, Sequence[Value]], response: ProduceResponse) -> None:
        """Takes out of `left` what is done."""
        for part in response.responses[0].partition_responses:
            error = ErrorCode(part.error_code)
            if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                place = TopicPartition(topic, part.index)
                self._sequences[place] = self._sequences.get(place, 0) + len(left.pop(part.index))
            else:
                check_later_when_producing(error)

    def _insist(self, line: Line, request: Message, version: int) -> Script[Any]:
        """Until there is an answer that says more than to ask again."""
        while True:
            response = yield from ask(line, request, version, _TIMEOUT_MS)
            if response is not None:
                error = error_in(response)
                if not error:
                    return response
                check_later(error)
            yield from pause(self._process, _BACKOFF_MS)


def _offsets(offsets: Mapping[TopicPartition, int]) -> tuple[TxnOffsetCommitRequestTopic, ...]:
    return tuple(
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=tuple(
                TxnOffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=offsets[TopicPartition(topic, number)],
                    committed_metadata="",
                )
                for number in numbers
            ),
        )
        for topic, numbers in by_topic(offsets).items()
    )
