"""Batches to their partitions: in order, and each once, however often it has to be sent."""

import asyncio
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.cluster import TopicView
from odradek.client.configs import ResourceType
from odradek.client.errors import ClientError, Refused, refusal
from odradek.client.setting import pauses_s
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_LEADER_EPOCH, NO_PRODUCER_ID, Offset, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import (
    HEAD_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    BatchHead,
    Codec,
    TimestampType,
    add_sequence,
    attributes_of,
    write_head,
)
from odradek.records.compression import compress
from odradek.spark.sink.encoding import Encoded, TopicShape
from odradek.spark.sink.errors import CannotWrite, Fenced
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.schema import NO_UUID

_BY_NAME_MAX = 12
"""Later versions of Produce have the ids of topics in place of their names."""
_BATCH_BYTES_MAX = "max.message.bytes"
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
_IN_FLIGHT_MAX = 5
"""Of one producer to one broker: brokers know the last five batches of a partition again, and no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSetting:
    acks: int = -1
    codec: Codec = Codec.NONE
    level: int | None = None
    request_bytes_max: int = 1 << 20
    delivery_timeout_s: float = 120
    """Without any batch being taken."""
    metadata_timeout_s: float = 60
    """For a topic to be there."""
    creates_topics: bool = True


class Identity(NamedTuple):
    producer_id: ProducerId
    epoch: int
    transactional_id: str | None = None


NOBODY = Identity(NO_PRODUCER_ID, -1)
"""Batches have no sequences then: one that was sent twice is there twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Equal to itself alone."""

    place: TopicPartition
    content: bytearray | memoryview


Failures = dict[Batch, ClientError]


async def new_identity(client: Client, timeout_s: float) -> Identity:
    """Of an idempotent producer. Raises CannotWrite."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_NO_TIMEOUT_MS)

    async def attempt() -> Identity:
        response = await client.ask(request, InitProducerIdResponse)
        if response.error_code:
            raise Refused(response.error_code)
        return Identity(ProducerId(response.producer_id), response.producer_epoch)

    try:
        return await client.persist(attempt, timeout_s)
    except ClientError as error:
        raise CannotWrite(f"cannot get a producer id: {error}") from None


_NO_TIMEOUT_MS = (1 << 31) - 1


class Producer:
    """`seal` gives batches their sequences, `deliver` brings them to the leaders: both in the same order."""

    def __init__(
        self,
        client: Client,
        setting: ProducerSetting,
        identity: Identity = NOBODY,
        version_max: int | None = None,
    ) -> None:
        self.identity = identity
        self._client = client
        self._setting = setting
        self._version_max = version_max
        self._begun = set[TopicPartition]()
        """Where brokers have taken a batch of it."""
        self._sent = set[Batch]()
        """Batches that nobody has told to be taken: brokers may have them or not."""
        self._sequences: dict[TopicPartition, int] = {}
        self._topics: dict[str, TopicView] = {}
        self._batch_bytes_max: dict[str, int | None] = {}
        self._is_stale = False
        """Whether leaders may have moved since the topics were looked up."""

    def seal(self, encoded: Encoded, now: TimestampMs) -> Batch:
        place, content, count = encoded
        batch: bytearray | memoryview = content
        codec = Codec.NONE
        if self._setting.codec is not Codec.NONE:
            compressed = compress(self._setting.codec, content[HEAD_SIZE:], self._setting.level)
            if HEAD_SIZE + len(compressed) < len(content):  # what grows could be above the topic's limit
                codec, batch = self._setting.codec, bytearray(HEAD_SIZE)
                batch += compressed
        producer_id, epoch, transactional_id = self.identity
        sequence = -1
        if producer_id != NO_PRODUCER_ID:
            sequence = self._sequences.get(place, 0)
            self._sequences[place] = add_sequence(sequence, count)
        attributes = attributes_of(
            codec,
            TimestampType.CREATE_TIME,
            transactional=transactional_id is not None,
            control=False,
        )
        numbers = (attributes, count - 1, now, now, producer_id, epoch, sequence, count)
        write_head(batch, BatchHead(Offset(0), len(batch) - LOG_OVERHEAD, NO_LEADER_EPOCH, MAGIC, 0, *numbers))
        return Batch(place, batch)

    # --- topics

    async def partitions_of(self, topic: str) -> int:
        """How many there are now. A topic that is not there is made, if both settings say so.

        Raises CannotWrite where there is no such topic when the time for it is up.
        """
        try:
            view = await self._client.persist(partial(self._look_up, topic), self._setting.metadata_timeout_s)
        except ClientError as error:
            raise CannotWrite(f"cannot write to topic {topic}: {error}") from None
        known = self._topics.get(topic)
        if known is not None and known.topic_id != view.topic_id:
            self._forget(topic)
        self._topics[topic] = view
        return len(view.partitions)

    def _forget(self, topic: str) -> None:
        """What it wrote to a topic that is no more: brokers know nothing of it for the one that now has its name."""
        self._begun = {place for place in self._begun if place.topic != topic}
        self._sequences = {place: number for place, number in self._sequences.items() if place.topic != topic}
        self._batch_bytes_max.pop(topic, None)

    async def shape_of(self, topic: str) -> TopicShape:
        """As it is now, but for the size of batches, which is asked for once. Raises CannotWrite."""
        partitions = await self.partitions_of(topic)
        if topic not in self._batch_bytes_max:
            try:
                asked = self._client.persist(partial(self._largest_batch, topic), self._setting.metadata_timeout_s)
                self._batch_bytes_max[topic] = await asked
            except ClientError:  # such brokers as cannot tell, or not now
                return TopicShape(partitions, None)
        return TopicShape(partitions, self._batch_bytes_max[topic])

    async def _largest_batch(self, topic: str) -> int | None:
        """None for those who may not know."""
        wanted = DescribeConfigsResource(
            resource_type=ResourceType.TOPIC, resource_name=topic, configuration_keys=(_BATCH_BYTES_MAX,)
        )
        response = await self._client.ask(DescribeConfigsRequest(resources=(wanted,)), DescribeConfigsResponse)
        for result in response.results:
            error = refusal(result.error_code, result.error_message)
            if error is not None and error.is_retriable:  # as from a broker that does not know a new topic yet
                raise error
        found = {config.name: config.value for result in response.results for config in result.configs}
        value = found.get(_BATCH_BYTES_MAX)
        return None if value is None else int(value)

    async def _look_up(self, topic: str) -> TopicView:
        view = (await self._client.look_up([topic], create=self._setting.creates_topics)).topics[topic]
        if view.error is not None and view.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(view.error.code, "it does not exist; create it")
        if view.error is not None:
            raise view.error
        if not view.partitions:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE)
        return view

    async def _look_again(self, topics: Collection[str]) -> None:
        """Raises ClientError while the cluster cannot say, CannotWrite if a topic is another one by now."""
        found = (await self._client.look_up(topics)).topics
        for name in topics:
            view = found[name]
            if view.error is not None:
                raise view.error
            known = self._topics.get(name)
            if known is not None and known.topic_id != view.topic_id:
                raise CannotWrite(f"topic {name} was deleted and made again while it was written to")
            self._topics[name] = view
        self._is_stale = False

    # --- delivery

    async def deliver(self, batches: Sequence[Batch]) -> None:
        """Returns when all of them are taken. Raises CannotWrite or Fenced; some may have been taken then."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._setting.delivery_timeout_s
        pauses = pauses_s(self._client.setting.rng)
        left = batches
        while left:
            failures = await self._send(left)
            if not failures:
                return
            if len(failures) < len(left):
                deadline = clock() + self._setting.delivery_timeout_s
                pauses = pauses_s(self._client.setting.rng)
            left = [batch for batch in left if batch in failures]
            pause = next(pauses)
            if clock() + pause >= deadline:
                timeout_s = self._setting.delivery_timeout_s
                raise CannotWrite(f"{_said(left[0], failures[left[0]])}; tried for {timeout_s:g} s")
            self._is_stale = True
            await asyncio.sleep(pause)

    async def _send(self, batches: Sequence[Batch]) -> Failures:
        """Each once. Gives those that may be taken a moment later; raises for those that will not be."""
        try:
            if self._is_stale:
                await self._look_again(sorted({batch.place.topic for batch in batches}))
        except ClientError as error:
            if not error.is_retriable:
                raise CannotWrite(f"cannot write to {batches[0].place}: {error}") from None
            return dict.fromkeys(batches, error)
        failures: Failures = {}
        by_leader: dict[int, list[Batch]] = {}
        for batch in batches:
            topic, number = batch.place
            leader = self._topics[topic].partitions[number].leader
            if leader < 0:
                failures[batch] = Refused(ErrorCode.LEADER_NOT_AVAILABLE)
            else:
                by_leader.setdefault(leader, []).append(batch)
        async with asyncio.TaskGroup() as tasks:
            asked = [
                tasks.create_task(self._send_to(leader, mine), name=f"leader-{leader}")
                for leader, mine in by_leader.items()
            ]
        for task in asked:
            failures |= task.result()
        self._raise_lasting(batches, failures)
        return failures

    def _raise_lasting(self, batches: Sequence[Batch], failures: Failures) -> None:
        first = set[TopicPartition]()
        for batch in batches:
            error = failures.get(batch)
            code = error.code if isinstance(error, Refused) else None
            if code in _FENCED:
                raise Fenced(
                    f"{_said(batch, error)}: a later attempt has taken the place of this one, or its transaction was "
                    "open for longer than kafka.transaction.timeout.ms"
                )
            # A batch is out of order where one before it was not taken: it comes behind that one the next time.
            follows = code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.place in first
            if error is not None and not error.is_retriable and not follows:
                raise CannotWrite(f"{_said(batch, error)}{_ADVICE.get(code, '')}")
            first.add(batch.place)

    async def _send_to(self, leader: int, batches: Sequence[Batch]) -> Failures:
        """What is behind one that failed is not sent any more, and counts as failed for the same reason.

        The first batch of a partition is waited for: a broker that has taken none of this producer's there would take
        the second for the first, if that one fails, and refuse it when it comes again. So is one that was sent before:
        those that were sent with it may be there, and with five more behind it, its broker would not know it again.
        """
        slots = asyncio.Semaphore(_IN_FLIGHT_MAX if self.identity is not NOBODY else 1)
        failures: Failures = {}
        under_way = set[asyncio.Task[None]]()
        alone = set[TopicPartition]()

        async def send(request: Mapping[TopicPartition, Batch]) -> None:
            self._sent.update(request.values())
            try:
                failed = await self._send_request(leader, request)
                failures.update(failed)
                taken = {place: batch for place, batch in request.items() if batch not in failed}
                self._begun.update(taken)
                self._sent.difference_update(taken.values())
            except ClientError as error:
                failures.update(dict.fromkeys(request.values(), error))
            finally:
                slots.release()

        async with asyncio.TaskGroup() as tasks:
            for request in _requests(batches, self._setting.request_bytes_max):
                if not alone.isdisjoint(request):
                    if under_way:
                        await asyncio.wait(tuple(under_way))
                    alone.clear()
                await slots.acquire()
                if failures:
                    reason = next(iter(failures.values()))
                    unsent = reason if reason.is_retriable else Refused(ErrorCode.NETWORK_EXCEPTION)
                    failures |= dict.fromkeys(request.values(), unsent)
                    slots.release()
                else:
                    alone |= request.keys() - self._begun
                    alone |= {place for place, batch in request.items() if batch in self._sent}
                    under_way.add(sent := tasks.create_task(send(request), name=f"produce-{leader}"))
                    sent.add_done_callback(under_way.discard)
        return failures

    async def _send_request(self, leader: int, request: Mapping[TopicPartition, Batch]) -> Failures:
        by_topic: dict[str, list[PartitionProduceData]] = {}
        for (topic, number), batch in request.items():
            by_topic.setdefault(topic, []).append(PartitionProduceData(index=number, records=batch.content))
        ids = {self._topics[topic].topic_id: topic for topic in by_topic}
        asked = ProduceRequest(
            transactional_id=self.identity.transactional_id,
            acks=self._setting.acks,
            timeout_ms=int(self._client.setting.request_timeout_s * 1000),
            topic_data=tuple(
                TopicProduceData(name=topic, topic_id=self._topics[topic].topic_id, partition_data=tuple(parts))
                for topic, parts in by_topic.items()
            ),
        )
        version_max = _BY_NAME_MAX if self._version_max is None and NO_UUID in ids else self._version_max
        response = await self._client.ask_leader(leader, asked, ProduceResponse, version_max)
        told: dict[TopicPartition, ClientError | None] = {
            TopicPartition(each.name or ids.get(each.topic_id, ""), part.index): refusal(
                part.error_code, part.error_message
            )
            for each in response.responses
            for part in each.partition_responses
        }
        silent = Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "the answer has nothing about it")
        outcomes = {batch: told.get(place, silent) for place, batch in request.items()}
        return {batch: error for batch, error in outcomes.items() if error is not None and not _is_repeat(error)}


_ADVICE: dict[ErrorCode | None, str] = {
    ErrorCode.MESSAGE_TOO_LARGE: "; a record, or kafka.batch.size, is above the topic's max.message.bytes: raise that",
}


def _is_repeat(error: ClientError) -> bool:
    """The batch was there already: its answer got lost."""
    return isinstance(error, Refused) and error.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER


def _said(batch: Batch, error: ClientError | None) -> str:
    topic, number = batch.place
    return f"cannot write to partition {number} of {topic}: {error}"


def _requests(batches: Sequence[Batch], bytes_max: int) -> Iterator[Mapping[TopicPartition, Batch]]:
    """Batches of different partitions together, up to the limit; those of one partition one after the other."""
    lines: dict[TopicPartition, deque[Batch]] = {}
    for batch in batches:
        lines.setdefault(batch.place, deque()).append(batch)
    while lines:
        request: dict[TopicPartition, Batch] = {}
        size = 0
        for place, line in list(lines.items()):
            if request and size + len(line[0].content) > bytes_max:
                continue
            request[place] = line.popleft()
            size += len(request[place].content)
            if not line:
                del lines[place]
        yield request
