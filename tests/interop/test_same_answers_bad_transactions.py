"""What no sane producer sends: markers of its own, others' transactions, states that do not fit; Kafka's answers."""

import time
from typing import Any

import pytest

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from support.same_answers import Asker, Case, Level, Side, differences
from support.transactional_writer import (
    BY_ID_SINCE,
    MANY_SINCE,
    Writer,
    commit_offset,
    group_of,
    producers_of,
    writer_of,
)

COMMIT_KEY = b"\0\0\0\1"
MARKER_VALUE = b"\0\0\0\0\0\0"


async def produce(ask: Asker, writer: Writer, topic: str, spec: dict[str, Any], *pairs: tuple[bytes, bytes]) -> None:
    """One batch of these keys and values, in a request of the writer's transactional id."""
    now = TimestampMs(int(time.time() * 1000))  # noqa: TID251 - brokers refuse what is far from their own time
    records = [Record(Offset(at), now, key, value) for at, (key, value) in enumerate(pairs)]
    known = {"producer_id": ProducerId(writer.producer_id), "producer_epoch": writer.epoch, "base_sequence": 0}
    batch = build_batch(records, BatchSpec(**{**known, **spec}))
    part = (PartitionProduceData(index=0, records=batch),)
    by_id = ask.level.version_of(ProduceRequest) >= BY_ID_SINCE
    name: dict[str, Any] = {"topic_id": await ask.topic_id(topic)} if by_id else {"name": topic}
    data = (TopicProduceData(partition_data=part, **name),)
    await ask(ProduceRequest(transactional_id=writer.transactional_id, acks=-1, timeout_ms=30_000, topic_data=data))


async def markers_of_clients(ask: Asker) -> None:
    """Batches that say that they are control batches, with what a marker has in it and with what it has not."""
    topic = await ask.create("markers-of-clients")
    writer = await writer_of(ask, "markers-of-clients")
    await writer.init()
    await writer.add(topic)
    await writer.send(topic)
    marker = (COMMIT_KEY, MARKER_VALUE)
    for spec in (
        {"control": True, "transactional": True},
        {"control": True, "transactional": True, "base_sequence": -1},
        {"control": True},
        {"control": True, "producer_id": ProducerId(-1), "producer_epoch": -1, "base_sequence": -1},
    ):
        await produce(ask, writer, topic, spec, marker)
        await produce(ask, writer, topic, spec, (b"key", b"value"))
        await produce(ask, writer, topic, spec, marker, marker)
    await producers_of(ask, topic)
    await writer.end(commit=False)


async def sequences(ask: Asker) -> None:
    """Batches of a transaction that cannot be what they say."""
    topic = await ask.create("bad-sequences")
    writer = await writer_of(ask, "bad-sequences")
    await writer.init()
    await writer.add(topic)
    for spec in (
        {"transactional": True, "base_sequence": -1},
        {"transactional": True, "producer_epoch": -1},
        {"transactional": True, "base_sequence": 7},
        {"transactional": True, "base_sequence": (1 << 31) - 1},
    ):
        await produce(ask, writer, topic, spec, (b"key", b"value"))
    await producers_of(ask, topic)
    await writer.end(commit=False)


async def marked_by_strangers(ask: Asker) -> None:
    """WriteTxnMarkers, which any client may send where nothing is authorized."""
    topic = await ask.create("marked-by-strangers", 2)
    await group_of(ask, "marked-by-strangers")
    writer = await writer_of(ask, "marked-by-strangers")
    await writer.init()
    await writer.add(topic)
    await writer.send(topic)

    def marker(*topics: tuple[str, tuple[int, ...]], **fields: Any) -> WritableTxnMarker:
        known: dict[str, Any] = {
            "producer_id": writer.producer_id,
            "producer_epoch": writer.epoch,
            "transaction_result": False,
            "coordinator_epoch": 0,
        }
        named = tuple(WritableTxnMarkerTopic(name=name, partition_indexes=numbers) for name, numbers in topics)
        return WritableTxnMarker(topics=named, **{**known, **fields})

    async def mark(*markers: WritableTxnMarker) -> None:
        await ask(WriteTxnMarkersRequest(markers=markers))
        await tell()

    async def tell() -> None:
        asked = TopicRequest(name=topic, partition_indexes=(0, 1))
        (told,) = (await ask.quietly(DescribeProducersRequest(topics=(asked,)))).topics
        for part in told.partitions:  # Kafka has them in a hash table
            ask.keep(sorted(part.active_producers, key=lambda producer: producer.producer_id))

    await mark(marker((topic, (0,)), coordinator_epoch=-1))
    await mark(marker((topic, ())))
    await mark(marker())
    await mark(marker(("", (0,))))
    await mark(marker((topic, (-1,))))
    await mark(marker((topic, (1,)), producer_id=8_000_000))
    await mark(marker((topic, (0,)), producer_id=8_000_000), marker((topic, (1,)), producer_id=8_000_001))
    await mark(marker(("__transaction_state", (0,)), producer_id=8_000_002))
    await mark(marker(("__consumer_offsets", (0,)), producer_id=8_000_003))
    await mark(marker((topic, (0,))), marker((topic, (0,)), transaction_result=True))
    await writer.end(commit=False)
    await writer.tell()
    await tell()


async def out_of_turn(ask: Asker) -> None:
    """Ends without beginnings, offsets without groups, and what a fenced producer tries."""
    topic = await ask.create("out-of-turn")
    group_id = await group_of(ask, "out-of-turn")
    writer = await writer_of(ask, "out-of-turn")
    await commit_offset(writer, group_id, topic, 1)
    await writer.init()
    await writer.end(commit=True)
    await writer.end(commit=False)
    await ask(AddOffsetsToTxnRequest(group_id="", **writer.who()))
    await writer.add()
    await writer.tell()
    await writer.add(topic)
    await ask(AddOffsetsToTxnRequest(group_id=group_id, **writer.who()))
    fenced = writer.who()
    await writer.init()
    await writer.init()
    for other in ({}, {"producer_id": writer.producer_id + 5}, {"producer_epoch": 30_000}):
        claim = {**fenced, **other}
        await ask(AddOffsetsToTxnRequest(group_id=group_id, **claim))
        await commit_offset(Writer(ask, *claim.values()), group_id, topic, 3)
    await writer.tell()
    await producers_of(ask, topic)


async def others_transactions(ask: Asker) -> None:
    """A producer that says it is another one, which has a transaction open."""
    topic = await ask.create("others")
    group_id = await group_of(ask, "others")
    owner, thief = await writer_of(ask, "owner"), await writer_of(ask, "thief")
    await owner.init()
    await thief.init()
    await owner.add(topic)
    await owner.send(topic)
    stolen = Writer(ask, owner.transactional_id, thief.producer_id, thief.epoch)
    await stolen.add(topic)
    await stolen.send(topic, sequence=0)
    await commit_offset(stolen, group_id, topic, 7)
    await stolen.end(commit=True)
    borrowed = Writer(ask, thief.transactional_id, owner.producer_id, owner.epoch)
    await borrowed.add(topic)
    await borrowed.send(topic, sequence=1)
    await borrowed.end(commit=True)
    await owner.tell()
    await thief.tell()
    await owner.end(commit=True)
    await producers_of(ask, topic)


async def names(ask: Asker) -> None:
    """Transactional ids of all kinds."""
    await writer_of(ask, "names")
    for name in ("x" * 5_000, "with\nline", "\0", "ü€😀", "."):
        writer = Writer(ask, ask.name(name))
        await writer.init()
        await writer.tell()
    await ask(DescribeTransactionsRequest(transactional_ids=()))
    await ask(DescribeTransactionsRequest(transactional_ids=(ask.name("\0"), ask.name("\0"))))
    await ask(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1))


async def several_at_once(ask: Asker) -> None:
    """What brokers send for several producers, from version 4 on: each has an answer of its own."""
    if ask.level.version_of(AddPartitionsToTxnRequest) < MANY_SINCE:
        return
    topic = await ask.create("several-at-once")
    first, second = await writer_of(ask, "several-1"), await writer_of(ask, "several-2")
    await first.init()
    await second.init()
    here = (AddPartitionsToTxnTopic(name=topic, partitions=(0,)),)
    nowhere = (AddPartitionsToTxnTopic(name=ask.name("no-such-topic"), partitions=(0,)),)

    async def add(*transactions: tuple[dict[str, Any], tuple[AddPartitionsToTxnTopic, ...], bool]) -> None:
        asked = tuple(
            AddPartitionsToTxnTransaction(topics=topics, verify_only=verify, **who)
            for who, topics, verify in transactions
        )
        await ask(AddPartitionsToTxnRequest(transactions=asked))

    await add((first.who(), here, False), (second.who(producer_epoch=9), here, False))
    await add((first.who(), here, True), (second.who(), here, True))
    await add((first.who(), nowhere, False), (second.who(), here, False))
    await add((first.who(), nowhere, True), (second.who(), nowhere, True))
    await first.tell()
    await second.tell()
    await first.end(commit=False, version=5)
    await second.end(commit=False, version=5)


CASES: list[Case] = [
    markers_of_clients,
    sequences,
    marked_by_strangers,
    out_of_turn,
    others_transactions,
    names,
    several_at_once,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
