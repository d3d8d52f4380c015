"""One answer for how far partitions go and what is in them: what comes of it, and when it is not believed."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from odradek.client.client import Client
from odradek.client.setting import ClientSetting
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import MAGIC_AT
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.spark.cluster import Cluster, Extent
from odradek.spark.offsets import Position
from odradek.spark.options import source_options
from odradek.spark.reading import read_ranges
from odradek.spark.reading.range import Ahead, Range
from odradek.spark.streams.ahead import BYTES_MAX, NOTHING, Found, Seen, look_ahead, with_found
from odradek.spark.streams.driver import StreamDriver
from odradek.testing.broker import RunningBroker
from odradek.wire.apis import APIS
from odradek.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from odradek.wire.schema import Message
from odradek.wire.schema import replace as replace_fields
from support.fake_broker import Asked, FakeBroker

ORDERS = TopicPartition("orders", 0)
OTHERS = TopicPartition("orders", 1)
ORDERS_ID = bytes(range(16))
FETCH = next(key for key, api in APIS.items() if api.request is FetchRequest)
NOBODY = "127.0.0.1:1"


def batch_of(values: list[bytes], base_offset: int = 0) -> bytes:
    records = [Record(Offset(base_offset + number), TimestampMs(0), None, value) for number, value in enumerate(values)]
    return bytes(build_batch(records))


_EMPTY = PartitionData(
    partition_index=0, error_code=0, high_watermark=9, log_start_offset=2, aborted_transactions=None, records=None
)


def partition_of(index: int = 0, **fields: object) -> PartitionData:
    return replace_fields(_EMPTY, partition_index=index, **fields)


def answer_of(*partitions: PartitionData, topic_id: bytes = ORDERS_ID, error: int = 0) -> FetchResponse:
    topic = FetchableTopicResponse(topic="orders", topic_id=topic_id, partitions=partitions)
    return FetchResponse(error_code=error, responses=(topic,))


def look(
    answer: Message | None,
    starts: dict[TopicPartition, int],
    *,
    with_records: bool = True,
    read_committed: bool = False,
    versions: tuple[int, int] | None = None,
    requests: list[FetchRequest] | None = None,
) -> Seen | None:
    """What is seen of a broker that leads all partitions, and answers like this, or not at all."""

    def reply(asked: Asked) -> None:
        if requests is not None and isinstance(asked.request, FetchRequest):
            requests.append(asked.request)
        if isinstance(asked.request, MetadataRequest):
            node = MetadataResponseBroker(node_id=0, host=broker.address.host, port=broker.address.port)
            asked.reply(MetadataResponse(brokers=(node,), topics=()))
        elif answer is not None:
            asked.reply(answer)

    broker = FakeBroker(reply)
    if versions is not None:
        broker.versions[FETCH] = versions
    known = Extent(dict.fromkeys(starts, 0), dict.fromkeys(starts, 5), {"orders": ORDERS_ID}, dict.fromkeys(starts, 0))

    async def run() -> Seen | None:
        async with broker.serving():
            client = await Client.connect([broker.address], ClientSetting(request_timeout_s=0.3))
            async with client:
                return await look_ahead(client, known, starts, with_records=with_records, read_committed=read_committed)

    return asyncio.run(run())


def test_edges_and_records_come_in_one_answer() -> None:
    records = batch_of([b"a", b"b"], 5) + batch_of([b"c"], 7)
    seen = look(answer_of(partition_of(records=records)), {ORDERS: 5})
    assert seen is not None
    assert (seen.extent.earliest, seen.extent.latest) == ({ORDERS: 2}, {ORDERS: 9})
    assert seen.found == {ORDERS: Found(5, 8, Ahead(records, ()))}


def test_without_records_only_what_has_come_since_is_asked_for() -> None:
    requests: list[FetchRequest] = []
    answer = answer_of(partition_of(records=batch_of([b"a"], 5)))
    seen = look(answer, {ORDERS: 3}, with_records=False, requests=requests)
    assert seen is not None
    assert (seen.extent.latest, seen.found) == ({ORDERS: 9}, NOTHING)
    (partition,) = requests[0].topics[0].partitions
    assert (partition.fetch_offset, partition.partition_max_bytes, requests[0].max_bytes) == (5, 1, 1)


def test_messages_of_old_formats_are_left_to_the_tasks() -> None:
    """Compressed ones have their last offset where batches have their first."""
    old = bytearray(batch_of([b"a"], 9))
    old[MAGIC_AT] = 1
    new = batch_of([b"b"], 10)
    seen = look(answer_of(partition_of(records=bytes(old) + new, high_watermark=11)), {ORDERS: 5})
    assert seen is not None
    assert seen.found == {}


def test_where_transactions_are_waited_for_the_end_is_before_open_ones() -> None:
    answer = answer_of(partition_of(last_stable_offset=6))
    seen = look(answer, {ORDERS: 5}, read_committed=True)
    assert seen is not None
    assert seen.extent.latest == {ORDERS: 6}


@pytest.mark.parametrize(
    ("answer", "start"),
    [
        (None, 5),
        (answer_of(partition_of(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)), 5),
        (answer_of(partition_of(error_code=ErrorCode.UNKNOWN_TOPIC_ID)), 5),
        (answer_of(partition_of(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=-1)), 5),
        (answer_of(error=ErrorCode.UNKNOWN_SERVER_ERROR), 5),
        (answer_of(partition_of(), topic_id=bytes(15) + b"x"), 5),
        (answer_of(partition_of(1)), 5),
        (answer_of(partition_of(), partition_of(1)), 5),
        (answer_of(partition_of(high_watermark=4)), 5),
        (answer_of(partition_of(log_start_offset=6)), 5),
        (answer_of(partition_of(log_start_offset=-1)), 5),
    ],
    ids=[
        "silence", "another leads", "another topic", "out of range", "an error", "an id that was not asked for",
        "another partition", "one too many", "an end before the start", "expired", "no start told",
    ],
)  # fmt: skip
def test_what_is_not_as_it_was_is_to_be_asked_for_anew(answer: Message | None, start: int) -> None:
    assert look(answer, {ORDERS: start}) is None


def test_a_broker_that_knows_topics_by_name_only_may_mean_another_one() -> None:
    assert look(answer_of(partition_of()), {ORDERS: 5}, versions=(4, 12)) is None


def test_what_is_too_much_is_left_to_the_tasks() -> None:
    half = batch_of([bytes(BYTES_MAX // 2)], 5)
    seen = look(answer_of(partition_of(records=half), partition_of(1, records=half)), {ORDERS: 5, OTHERS: 5})
    assert seen is not None
    assert list(seen.found) == [ORDERS]


def test_only_whole_batches_count() -> None:
    first, second = batch_of([b"a"], 5), batch_of([b"b"], 6)
    ends = {}
    for cut in (0, 5, len(first) - 1, len(first), len(first) + 8, len(first) + len(second)):
        seen = look(answer_of(partition_of(records=(first + second)[:cut])), {ORDERS: 5})
        assert seen is not None
        ends[cut] = seen.found[ORDERS].next_offset if seen.found else None
    assert list(ends.values()) == [None, None, None, 6, 6, 7]


def test_only_a_range_that_is_all_there_gets_its_records() -> None:
    first, second = (base.to_bytes(8, "big") + batch_of([b"x"] * count)[8:] for base, count in ((5, 2), (7, 1)))
    aborted = ((1, 5),)
    found = {ORDERS: Found(5, 8, Ahead(first + second, aborted))}
    whole = Range("orders", ORDERS_ID, 0, 5, 8)
    assert with_found(whole, found).ahead == Ahead(first + second, aborted)
    for end in (6, 7):  # and no more than that
        assert with_found(replace(whole, end=end), found).ahead == Ahead(first, aborted)
    for other in (replace(whole, start=4), replace(whole, start=6), replace(whole, end=9), replace(whole, partition=1)):
        assert with_found(other, found) == other


# --- with a real broker


class Stage:
    """A topic of its own, and a stream on it that has looked at all of it."""

    def __init__(self, broker: RunningBroker, topic: str) -> None:
        self.broker, self.topic = broker, topic
        self.now_s = 0.0
        broker.create_topic(topic, 1)

    def produce(self, values: list[bytes], **settings: str) -> Producer:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "linger.ms": "1", **settings})
        if "transactional.id" in settings:
            producer.init_transactions()
            producer.begin_transaction()
        for value in values:
            producer.produce(self.topic, value, partition=0)
        producer.flush()
        return producer

    def driver(self, **options: str) -> StreamDriver:
        told = {"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": self.topic, **options}
        found = source_options({**told, "startingOffsets": "earliest"}, streaming=True)
        return StreamDriver(found, Cluster(found), lambda: self.now_s)

    def batches(self, **options: str) -> Callable[[], list[Range]]:
        driver = self.driver(**options)
        at = driver.initial()

        def next_batch() -> list[Range]:
            nonlocal at
            start, at = at, driver.advance(at, limited=True)
            return driver.ranges(start, Position.from_json(at.to_json()))

        next_batch()
        return next_batch

    def read(self, ranges: list[Range], **options: str) -> list[bytes]:
        """With nobody there to be asked for anything."""
        told = {"kafka.bootstrap.servers": NOBODY, "subscribe": self.topic, **options}
        setting = replace(source_options(told, streaming=True).reading, timeout_s=1)
        return [value.as_py() for batch in read_ranges(ranges, setting) for value in batch.column("value")]


@pytest.fixture
def stage(odradek_shared_broker: RunningBroker, request: pytest.FixtureRequest) -> Stage:
    return Stage(odradek_shared_broker, "ahead-" + request.node.name.replace("_", "-"))


def test_small_batches_of_a_stream_come_with_their_plan(stage: Stage) -> None:
    stage.produce([b"first"])
    next_batch = stage.batches()
    for values in ([b"a", b"b"], [b"c"], [b"d"] * 500):
        stage.produce(values)
        assert stage.read(next_batch()) == values


def test_a_limited_batch_has_no_more_than_its_rows(stage: Stage) -> None:
    next_batch = stage.batches(maxOffsetsPerTrigger="2")
    stage.produce([b"a", b"b", b"c"])
    assert [stage.read(next_batch()), stage.read(next_batch())] == [[b"a", b"b"], [b"c"]]


def test_pieces_of_a_range_are_fetched_by_those_who_read_them(stage: Stage) -> None:
    next_batch = stage.batches(minPartitions="2")
    stage.produce([b"a", b"b"])
    assert [each.ahead is not None for each in next_batch()] == [True, False]


def test_large_batches_are_fetched_by_those_who_read_them(stage: Stage) -> None:
    next_batch = stage.batches()
    stage.produce([bytes(BYTES_MAX), b"small"])
    assert [each.ahead for each in next_batch()] == [None]


def test_after_a_batch_that_is_too_large_none_are_sent_along_for_a_second(stage: Stage) -> None:
    next_batch = stage.batches()
    stage.produce([bytes(BYTES_MAX)])
    next_batch()
    for now_s, comes in ((0.5, False), (0.9, False), (1.1, True)):
        stage.now_s = now_s
        stage.produce([b"small"])
        assert [each.ahead is not None for each in next_batch()] == [comes]


def test_a_stream_that_waits_for_many_rows_is_sent_none_of_them_before(stage: Stage) -> None:
    driver = stage.driver(minOffsetsPerTrigger="2", maxTriggerDelay="1h")
    at = driver.advance(driver.initial(), limited=True)
    stage.produce([b"a"])
    assert driver.advance(at, limited=True) == at
    stage.produce([b"b"])
    end = driver.advance(at, limited=True)
    assert [(each.end - each.start, each.ahead) for each in driver.ranges(at, end)] == [(2, None)]


def test_what_was_aborted_is_left_out(stage: Stage) -> None:
    committed = {"kafka.isolation.level": "read_committed"}
    next_batch = stage.batches(**committed)
    stage.produce([b"never"], **{"transactional.id": stage.topic}).abort_transaction()
    stage.produce([b"a"], **{"transactional.id": stage.topic}).commit_transaction()
    ranges = next_batch()
    assert ranges[0].ahead is not None
    assert stage.read(ranges, **committed) == [b"a"]
