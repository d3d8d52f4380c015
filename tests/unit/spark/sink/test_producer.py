"""Batches come to their partitions in order, and each once, whatever a broker answers."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from odradek.client.client import Client
from odradek.client.setting import ClientSetting
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import HEAD_SIZE, Codec, parse_head
from odradek.records.compression import decompress
from odradek.spark.sink.encoding import Encoded, TopicShape
from odradek.spark.sink.errors import CannotWrite, Fenced
from odradek.spark.sink.producer import NOBODY, Batch, Identity, Producer, ProducerSetting
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from support.fake_broker import Asked, FakeBroker, Hurried

TOPIC_ID = b"i" * 16
WHO = Identity(ProducerId(7), 2)
Judge = Callable[[int, int], int | None]
"""From a partition and the sequence of a batch to the code of the answer; None for none at all."""


LOST = -99
"""In place of an answer: none comes, and a moment later the connection ends."""
_LOST_S = 0.05


class Stage:
    """A broker that keeps the sequences of what it took, as brokers do."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.taken: dict[int, list[int]] = {}
        self.requests: list[list[int]] = []
        """Partitions of each."""
        self.creations: list[bool] = []
        """Whether those who looked the topic up would have had it made."""
        self.topic_id = TOPIC_ID
        self.partitions = 2
        self.leader = 1
        self.config_answers: list[str | None] = []
        """What max.message.bytes is; None to end the connection, nothing where the topic is not known yet."""
        self.broker = FakeBroker(self.answer)

    def answer(self, asked: Asked) -> None:
        if isinstance(asked.request, MetadataRequest):
            self.creations.append(asked.request.allow_auto_topic_creation)
            asked.reply(self._metadata())
            return
        if isinstance(asked.request, DescribeConfigsRequest):
            self._tell_config(asked, self.config_answers.pop(0))
            return
        assert isinstance(asked.request, ProduceRequest)
        (topic,) = asked.request.topic_data
        self.requests.append([each.index for each in topic.partition_data])
        parts = []
        for each in topic.partition_data:
            head = parse_head(memoryview(bytes(each.records or b"")))
            code = self.judge(each.index, head.base_sequence)
            if code is None:
                asked.writer.close()
                return
            if code == LOST:
                asyncio.get_running_loop().call_later(_LOST_S, asked.writer.close)
                return
            if not code:
                self.taken.setdefault(each.index, []).append(head.base_sequence)
            parts.append(PartitionProduceResponse(index=each.index, error_code=code, base_offset=0))
        told = TopicProduceResponse(topic_id=topic.topic_id, partition_responses=tuple(parts))
        asked.reply(ProduceResponse(responses=(told,)))

    def _tell_config(self, asked: Asked, value: str | None) -> None:
        if value is None:
            asked.writer.close()
            return
        if not value:
            unknown = DescribeConfigsResult(
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, resource_type=2, resource_name="orders", configs=()
            )
            asked.reply(DescribeConfigsResponse(results=(unknown,)))
            return
        told = DescribeConfigsResourceResult(
            name="max.message.bytes", value=value, read_only=False, is_sensitive=False, synonyms=()
        )
        result = DescribeConfigsResult(resource_type=2, resource_name="orders", configs=(told,))
        asked.reply(DescribeConfigsResponse(results=(result,)))

    def _metadata(self) -> MetadataResponse:
        address = self.broker.address
        partitions = tuple(
            MetadataResponsePartition(partition_index=each, leader_id=self.leader, replica_nodes=(1,), isr_nodes=(1,))
            for each in range(self.partitions)
        )
        return MetadataResponse(
            brokers=(MetadataResponseBroker(node_id=1, host=address.host, port=address.port),),
            topics=(MetadataResponseTopic(name="orders", topic_id=self.topic_id, partitions=partitions),),
        )

    @asynccontextmanager
    async def producing(self, who: Identity = WHO, **setting: float | Codec) -> AsyncIterator[Producer]:
        async with self.broker.serving() as broker:
            quick = ClientSetting(rng=Hurried())
            async with await Client.connect([broker.address], quick) as client:
                producer = Producer(client, ProducerSetting(**setting), who)  # type: ignore[arg-type]
                assert await producer.partitions_of("orders") == self.partitions
                yield producer


def batches(producer: Producer, *partitions: int, size: int = 100) -> list[Batch]:
    """One record each."""
    room = memoryview(bytearray(HEAD_SIZE + size))
    return [
        producer.seal(Encoded(TopicPartition("orders", each), memoryview(bytearray(room)), 1), TimestampMs(1))
        for each in partitions
    ]


def once(*codes: int | None) -> Judge:
    """These answers for the first ones of all, then none is refused."""
    left = list(codes)
    return lambda partition, sequence: left.pop(0) if left else 0


def deliver(stage: Stage, *partitions: int, who: Identity = WHO, size: int = 100, **setting: float) -> None:
    async def run() -> None:
        async with stage.producing(who, **setting) as producer:
            await producer.deliver(batches(producer, *partitions, size=size))

    asyncio.run(run())


def test_batches_of_different_partitions_go_together() -> None:
    stage = Stage(once())
    deliver(stage, 0, 1, 0, 1, 0)
    assert stage.requests == [[0, 1], [0, 1], [0]]
    assert stage.taken == {0: [0, 1, 2], 1: [0, 1]}


def test_how_large_batches_may_be_is_asked_again_where_a_broker_was_lost_or_does_not_know_yet() -> None:
    stage = Stage(once())
    stage.config_answers = [None, "", "2000"]

    async def run() -> None:
        async with stage.producing() as producer:
            assert await producer.shape_of("orders") == TopicShape(2, 2000)
            assert await producer.shape_of("orders") == TopicShape(2, 2000)

    asyncio.run(run())
    assert stage.config_answers == []


@pytest.mark.parametrize("creates", [True, False])
def test_a_topic_is_made_only_where_the_setting_says_so(creates: bool) -> None:
    stage = Stage(once())
    deliver(stage, creates_topics=creates)
    assert stage.creations == [creates]


@pytest.mark.parametrize("codec", [each for each in Codec if each is not Codec.NONE])
def test_what_compression_makes_larger_is_sent_as_it_is(codec: Codec) -> None:
    """A batch is cut so that it is within the limit of its topic before it is compressed."""

    async def run() -> None:
        async with Stage(once()).producing(WHO, codec=codec) as producer:
            for content, expected in ((Random(1).randbytes(5000), Codec.NONE), (bytes(5000), codec)):
                room = memoryview(bytearray(bytes(HEAD_SIZE) + content))
                batch = producer.seal(Encoded(TopicPartition("orders", 0), room, 1), TimestampMs(1))
                head = parse_head(memoryview(batch.content))
                assert head.codec is expected
                assert head.size == len(batch.content) <= HEAD_SIZE + len(content)
                inflated = decompress(head.codec, memoryview(batch.content)[HEAD_SIZE:])
                assert bytes(inflated) == content

    asyncio.run(run())


def test_a_leader_that_has_left_the_cluster_is_looked_for_again() -> None:
    stage = Stage(once())

    async def run() -> None:
        async with stage.producing(WHO) as producer:
            stage.leader = 3
            await producer.partitions_of("orders")
            stage.leader = 1
            await producer.deliver(batches(producer, 0))

    asyncio.run(run())
    assert stage.taken == {0: [0]}


def test_a_request_stays_below_its_limit() -> None:
    stage = Stage(once())
    deliver(stage, 0, 1, size=600, request_bytes_max=1000)
    assert stage.requests == [[0], [1]]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_ID,
        None,
    ],
)
def test_what_may_pass_is_tried_again(code: int | None) -> None:
    stage = Stage(once(code, code))
    deliver(stage, 0, 1)
    assert stage.taken == {0: [0], 1: [0]}


def test_what_follows_a_batch_that_was_not_taken_comes_behind_it() -> None:
    expected = 0

    def judge(_: int, sequence: int) -> int:
        nonlocal expected
        refuse = judge.tries == 2  # type: ignore[attr-defined]
        judge.tries += 1  # type: ignore[attr-defined]
        if refuse:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        if sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        expected += 1
        return 0

    judge.tries = 0  # type: ignore[attr-defined]
    stage = Stage(judge)
    deliver(stage, *(0,) * 9)
    assert stage.taken == {0: list(range(9))}


def test_what_follows_a_first_batch_that_was_not_taken_is_not_taken_for_the_first() -> None:
    """A broker that knows nothing of a producer takes any sequence for its first."""
    expected: int | None = None
    refusals = [ErrorCode.NOT_ENOUGH_REPLICAS]

    def judge(_: int, sequence: int) -> int:
        nonlocal expected
        if refusals:
            return refusals.pop()
        if expected is not None and sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        expected = sequence + 1
        return 0

    stage = Stage(judge)
    deliver(stage, *(0,) * 9)
    assert stage.taken == {0: list(range(9))}
    assert len(stage.requests) == 10, "but the first, each was sent once"


def test_a_batch_that_was_sent_before_is_under_way_alone() -> None:
    """A broker knows the last five batches again. The first answer is lost while four behind it are taken, and then its
    second one: with others behind it, it would not be among the five any more."""
    known = deque[int](maxlen=5)
    appended: list[int] = []
    asked = Counter[int]()

    def judge(_: int, sequence: int) -> int:
        asked[sequence] += 1
        if sequence not in known:
            if sequence != len(appended):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            appended.append(sequence)
            known.append(sequence)
        if sequence == 1 and asked[1] == 1:
            return ErrorCode.REQUEST_TIMED_OUT
        return LOST if asked[1] == 2 else 0

    deliver(Stage(judge), *(0,) * 15)
    assert appended == list(range(15))
    assert asked[1] == 3


def test_a_batch_that_was_there_already_counts_as_taken() -> None:
    stage = Stage(once(ErrorCode.DUPLICATE_SEQUENCE_NUMBER))
    deliver(stage, 0, 0)
    assert stage.taken == {0: [1]}


def test_without_sequences_one_is_under_way_at_a_time() -> None:
    stage = Stage(once(ErrorCode.NOT_ENOUGH_REPLICAS))
    deliver(stage, 0, 0, 0, who=NOBODY, acks=1)
    assert stage.requests == [[0]] * 4
    assert stage.taken == {0: [-1, -1, -1]}


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, CannotWrite, "partition 0 of orders: Topic authorization failed"),
        (
            ErrorCode.MESSAGE_TOO_LARGE,
            CannotWrite,
            "partition 0 of orders: MESSAGE_TOO_LARGE; a record, or kafka.batch.size, is above",
        ),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, CannotWrite, "partition 0 of orders: OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, Fenced, "a later attempt has taken the place of this one"),
    ],
)
def test_what_does_not_pass_names_the_partition(code: int, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        deliver(Stage(once(code)), 0)


def test_what_never_passes_ends_with_its_time() -> None:
    stage = Stage(lambda partition, sequence: ErrorCode.NOT_ENOUGH_REPLICAS if partition else 0)
    with pytest.raises(CannotWrite, match=r"partition 1 of orders: NOT_ENOUGH_REPLICAS; tried for 0\.05 s"):
        deliver(stage, 0, 1, delivery_timeout_s=0.05)
    assert stage.taken == {0: [0]}


def test_a_topic_that_was_made_again_is_not_written_on() -> None:
    stage = Stage(once(ErrorCode.UNKNOWN_TOPIC_ID))

    def judge(partition: int, sequence: int) -> int:
        stage.topic_id = b"j" * 16
        return ErrorCode.UNKNOWN_TOPIC_ID

    stage.judge = judge
    with pytest.raises(CannotWrite, match="topic orders was deleted and made again while it was written to"):
        deliver(stage, 0)


def test_a_topic_that_was_made_again_before_a_task_is_begun_anew() -> None:
    """Its first batch is refused for a moment: what is behind it must not be taken for the first."""
    stage = Stage(once())
    known: dict[int, int] = {}
    refusals = [ErrorCode.NOT_ENOUGH_REPLICAS]

    def judge(partition: int, sequence: int) -> int:
        if refusals:
            return refusals.pop()
        if sequence != known.get(partition, sequence):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        known[partition] = sequence + 1
        return 0

    async def run() -> None:
        async with stage.producing() as producer:
            await producer.deliver(batches(producer, 0, 0, 0, 1))
            stage.topic_id, stage.judge = b"j" * 16, judge
            stage.taken.clear()
            await producer.partitions_of("orders")
            await producer.deliver(batches(producer, 0, 0, 0, 0, 1))

    asyncio.run(run())
    assert stage.taken == {0: [0, 1, 2, 3], 1: [0]}


def test_a_partition_without_a_leader_is_waited_for() -> None:
    stage = Stage(once())
    looks = 0
    metadata = stage._metadata

    def without_leader() -> MetadataResponse:
        nonlocal looks
        looks += 1
        stage.leader = -1 if looks < 4 else 1
        return metadata()

    stage._metadata = without_leader  # type: ignore[method-assign]
    deliver(stage, 0, 1)
    assert stage.taken == {0: [0], 1: [0]}
    assert looks == 4
