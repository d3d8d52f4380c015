"""Records: produced, fetched, found by time and by epoch, and deleted, with the answers of Apache Kafka."""

import time
from typing import Any

import pytest

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import Codec, TimestampType
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from odradek.wire.messages.describe_producers import DescribeProducersRequest
from odradek.wire.messages.describe_producers import TopicRequest as ProducersTopic
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.same_answers import Asker, Case, Level, Side, differences

NOBODYS_ID = bytes(range(16))
NOW = TimestampMs(int(time.time() * 1000))  # noqa: TID251 - brokers refuse what is far from their own time
DAY_MS = 86_400_000
LONG_MAX, INT_MAX = (1 << 63) - 1, (1 << 31) - 1


def batch(*values: str, key: bytes | None = b"k", at: int = NOW, **spec: Any) -> bytearray:
    records = [Record(Offset(n), TimestampMs(at + n), key, value.encode()) for n, value in enumerate(values)]
    return bytearray(build_batch(records, BatchSpec(**spec)))


def with_int(data: bytearray, at: int, size: int, value: int) -> bytearray:
    """The batch with another number in its head; the checksum is not mended."""
    changed = bytearray(data)
    changed[at : at + size] = value.to_bytes(size, "big", signed=True)
    return changed


# --- Produce


async def produce(
    ask: Asker, topic: str, *parts: tuple[int, bytes | bytearray | None], acks: int = -1, topic_id: bytes | None = None
) -> None:
    """By id where the version has ids."""
    known = topic_id if topic_id is not None else await ask.topic_id(topic)
    data = tuple(PartitionProduceData(index=index, records=records) for index, records in parts)
    topics = (TopicProduceData(name=topic, topic_id=known, partition_data=data),)
    await ask(ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topics))


async def produced(ask: Asker) -> None:
    name = await ask.create("produced", 2)
    for codec in Codec:
        await produce(ask, name, (0, batch("a", "b", codec=codec)), (1, batch("c", codec=codec)))
    for acks in (1, -1, 2, -2, 7):
        await produce(ask, name, (0, batch("d")), acks=acks)
    await produce(ask, name, (9, batch("e")), (-1, batch("e")), (0, batch("f")))
    await produce(ask, name)
    await fetch(ask, name, 0, 0)


async def produced_to_nobody(ask: Asker) -> None:
    await produce(ask, ask.name("nobody"), (0, batch("a")))
    await produce(ask, "", (0, batch("a")))
    await produce(ask, "..", (0, batch("a")))
    await produce(ask, ask.name("nobody"), (0, batch("a")), topic_id=NOBODYS_ID)
    await ask(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=()))


async def topics_of_brokers(ask: Asker) -> None:
    """Made by hand, since nobody here needs it otherwise."""
    name = "__share_group_state"
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
    await ask.quietly(CreateTopicsRequest(topics=(topic,)), 7)
    await ask.settle()
    await produce(ask, name, (0, batch("a")), (7, batch("a")))
    await delete_records(ask, name, (0, 0), (7, 0))
    await fetch(ask, name, 0, 0)
    await list_offsets(ask, name, (0, -1, -1))


async def bad_batches(ask: Asker) -> None:
    name = await ask.create("bad")
    good = batch("a", "b")
    for bad in (
        b"",
        good[:20],
        good[:61],
        good[:-1],
        good + b"x",
        good + good,
        with_int(good, 17, 4, 12345),  # CRC
        with_int(good, 16, 1, 1),  # magic
        with_int(good, 16, 1, 0),
        with_int(good, 16, 1, 3),
        with_int(good, 8, 4, 5),  # length
        with_int(good, 8, 4, -1),
        with_int(good, 0, 8, 77),  # base offset
        with_int(good, 12, 4, 5),  # leader epoch
        batch("a", "b", last_offset_delta=5),
        batch("a", control=True),
        batch("a", producer_id=ProducerId(5)),
        batch("a", producer_id=ProducerId(5), producer_epoch=0, base_sequence=-1),
    ):
        await produce(ask, name, (0, bytearray(bad)))
    await fetch(ask, name, 0, 0)


async def too_large(ask: Asker) -> None:
    name = await ask.create("small", max_message_bytes="200")
    await produce(ask, name, (0, batch("x" * 100)))
    await produce(ask, name, (0, batch("x" * 200)))
    await produce(ask, name, (0, batch("x" * 300, codec=Codec.GZIP)))
    packed = await ask.create("small-packed", max_message_bytes="200", compression_type="gzip")
    await produce(ask, packed, (0, batch("x" * 300)))


async def times(ask: Asker) -> None:
    """`NOW` is when this file was read, which may be long ago: bounds are days."""
    name = await ask.create(
        "times", message_timestamp_before_max_ms=f"{2 * DAY_MS}", message_timestamp_after_max_ms=f"{DAY_MS}"
    )
    for at in (NOW, NOW - 4 * DAY_MS, NOW + 4 * DAY_MS, -1, 0):
        await produce(ask, name, (0, batch("a", "b", at=at)))
    plain = await ask.create("plain-times", retention_ms="-1")  # or it would not keep what is old
    for at in (NOW + 2 * DAY_MS, NOW - 900 * DAY_MS, LONG_MAX - 5, 0):
        await produce(ask, plain, (0, batch("a", "b", at=at)))
    appended = await ask.create("append-times", message_timestamp_type="LogAppendTime")
    for at in (NOW, NOW + 9 * DAY_MS, -1):
        await produce(ask, appended, (0, batch("a", "b", at=at)))
    await produce(ask, appended, (0, batch("a", timestamp_type=TimestampType.LOG_APPEND_TIME)))


async def compacted(ask: Asker) -> None:
    name = await ask.create("compacted", cleanup_policy="compact")
    await produce(ask, name, (0, batch("a")))
    await produce(ask, name, (0, batch("a", "b", key=None)))
    await produce(ask, name, (0, batch("a", "b", key=None, codec=Codec.LZ4)))
    await produce(ask, name, (0, batch("a", key=b"")))


async def sequences(ask: Asker) -> None:
    name = await ask.create("sequences", 2)

    async def send(sequence: int, epoch: int = 0, producer: int = 900, count: int = 1, partition: int = 0) -> None:
        records = batch(*["v"] * count, producer_id=ProducerId(producer), producer_epoch=epoch, base_sequence=sequence)
        await produce(ask, name, (partition, records))

    for sequence in (0, 1, 1, 0, 3, 2, 5, -1):
        await send(sequence)
    for epoch, sequence in [(1, 5), (1, 0), (0, 3), (1, 1), (5, 0), (4, 1)]:
        await send(sequence, epoch)
    for sequence in (5, 7, 6, 5, 0):  # one that the broker has never heard of
        await send(sequence, producer=901)
    for sequence in range(0, 14, 2):
        await send(sequence, producer=902, count=2, partition=1)
    for sequence in (10, 0, 12, 13, 14):
        await send(sequence, producer=902, count=2, partition=1)
    await send(INT_MAX, producer=903)
    await send(0, producer=903)
    topics = (
        ProducersTopic(name=name, partition_indexes=(0, 1, 2, -1)),
        ProducersTopic(name=ask.name("nobody"), partition_indexes=(0,)),
        ProducersTopic(name="..", partition_indexes=(0,)),
        ProducersTopic(name=name, partition_indexes=()),
    )
    for topic in topics:
        await ask(DescribeProducersRequest(topics=(topic,)))
    await ask(DescribeProducersRequest(topics=()))


async def producer_ids(ask: Asker) -> None:
    first = -1
    while first < 0:  # Kafka asks its controller for some when they are first wanted
        answer = await ask.quietly(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1))
        first = answer.producer_id

    async def init(transactional_id: str | None, timeout_ms: int, **more: Any) -> None:
        asked = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, **more)
        answer = await ask.quietly(asked)
        if isinstance(answer, str):
            ask.keep(answer)
        else:
            ask.keep([answer.error_code, answer.producer_id - first if answer.producer_id >= 0 else -1])
            ask.keep(answer.producer_epoch)

    for timeout_ms in (1000, 0, -1, INT_MAX):
        await init(None, timeout_ms)
    for producer_id, epoch in [(5, 3), (5, -1), (-1, 3), (-2, -2), (0, 0)]:
        await init(None, 1000, producer_id=producer_id, producer_epoch=epoch)
    await init("", 1000)


# --- Fetch


async def fetch(ask: Asker, topic: str, index: int, offset: int, **more: Any) -> Any:
    """One partition, or none. `more` are fields of the request and of the partition; and `version` and `topic_id`."""
    version, known = more.pop("version", None), more.pop("topic_id", None)
    wanted: dict[str, Any] = {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    wanted |= {name: more.pop(name) for name in list(more) if name in FetchPartition.declared}
    topic_id = await ask.topic_id(topic) if known is None else known
    named = FetchTopic(topic=topic, topic_id=topic_id, partitions=(FetchPartition(**wanted),))
    topics = (named,) if index != NOTHING else ()
    return await ask(FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "topics": topics, **more}), version)


NOTHING = -1_000
"""As a partition: none."""


async def fetched(ask: Asker) -> None:
    name = await ask.create("fetched", 2)
    for n in range(3):
        await produce(ask, name, (0, batch(f"{n}", f"{n}")))
    for offset in (0, 1, 2, 5, 6, 7, -1, -2, LONG_MAX):
        await fetch(ask, name, 0, offset)
    await fetch(ask, name, 1, 0)
    for index in (2, -1, INT_MAX):
        await fetch(ask, name, index, 0)
    for size in (0, 1, -1, 100, 200):
        await fetch(ask, name, 0, 0, partition_max_bytes=size)
        await fetch(ask, name, 0, 0, max_bytes=size)
    for isolation in (0, 1, 2, -1):
        await fetch(ask, name, 0, 0, isolation_level=isolation)
    for wait, least in [(0, 0), (-1, 1), (1, 100_000), (0, -1)]:
        await fetch(ask, name, 0, 6, max_wait_ms=wait, min_bytes=least)


async def fetched_from_nobody(ask: Asker) -> None:
    name = await ask.create("some")
    topic_id = await ask.topic_id(name)
    await fetch(ask, ask.name("nobody"), 0, 0)
    await fetch(ask, ask.name("nobody"), 0, 0, topic_id=NOBODYS_ID)
    await fetch(ask, "", 0, 0)
    await fetch(ask, name, NOTHING, 0)
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topics = (
        FetchTopic(topic=name, topic_id=topic_id, partitions=(part,)),
        FetchTopic(topic=ask.name("nobody"), topic_id=NOBODYS_ID, partitions=(part, part)),
        FetchTopic(topic=name, topic_id=topic_id, partitions=(part,)),
    )
    await ask(FetchRequest(topics=topics, max_wait_ms=0, min_bytes=0))
    await ask(FetchRequest(topics=topics[:1], max_wait_ms=0, min_bytes=0, cluster_id="another"))


async def fetched_in_epochs(ask: Asker) -> None:
    name = await ask.create("epochs-of-records")
    await produce(ask, name, (0, batch("a", "b")))
    for current in (0, 1, 5, -2):
        await fetch(ask, name, 0, 0, current_leader_epoch=current)
    for last in (0, 1, 7, -2):
        for offset in (0, 1, 2, 3):
            await fetch(ask, name, 0, offset, last_fetched_epoch=last, version=12)
            await fetch(ask, name, 0, offset, last_fetched_epoch=last, version=18)


async def fetched_in_sessions(ask: Asker) -> None:
    name = await ask.create("sessions", 3)
    await produce(ask, name, (0, batch("a")), (1, batch("b")))
    version = {Level.LOWEST: 7, Level.MIDDLE: 12, Level.HIGHEST: 18}[ask.level]
    first = await fetch(ask, name, 0, 0, session_id=0, session_epoch=0, version=version)
    session = first.session_id
    await fetch(ask, name, 1, 0, session_id=session, session_epoch=1, version=version)
    await fetch(ask, name, NOTHING, 0, session_id=session, session_epoch=2, version=version)
    await fetch(ask, name, 0, 1, session_id=session, session_epoch=3, version=version)
    await fetch(ask, name, 1, 1, session_id=session, session_epoch=4, version=version)
    await fetch(ask, name, NOTHING, 0, session_id=session, session_epoch=5, version=version)
    await produce(ask, name, (0, batch("c")))
    await fetch(ask, name, NOTHING, 0, session_id=session, session_epoch=6, version=version)
    gone = (ForgottenTopic(topic=name, topic_id=await ask.topic_id(name), partitions=(0, 2)),)
    await fetch(ask, name, 1, 0, session_id=session, session_epoch=7, version=version, forgotten_topics_data=gone)
    for wrong in (7, 5, 99, INT_MAX):
        await fetch(ask, name, 1, 0, session_id=session, session_epoch=wrong, version=version)
    await fetch(ask, name, 9, 0, session_id=session, session_epoch=8, version=version)
    await fetch(ask, name, NOTHING, 0, session_id=session, session_epoch=9, version=version)
    await fetch(ask, name, 1, 0, session_id=session, session_epoch=-1, version=version)
    await fetch(ask, name, 1, 0, session_id=session, session_epoch=10, version=version)
    await fetch(ask, name, 1, 0, session_id=session, session_epoch=0, version=version)
    await fetch(ask, name, 1, 0, session_id=0, session_epoch=1, version=version)
    await fetch(ask, name, 1, 0, session_id=-5, session_epoch=-1, version=version)
    await fetch(ask, name, 1, 0, session_id=0, session_epoch=-2, version=version)


async def fetched_as_a_follower(ask: Asker) -> None:
    name = await ask.create("followed")
    for replica in (1, 7):
        await fetch(ask, name, 0, 0, replica_id=replica, version=11)
        await fetch(ask, name, 0, 0, replica_state=ReplicaState(replica_id=replica, replica_epoch=1), version=18)
    await fetch(ask, name, 0, 0, replica_id=-2, version=11)


# --- ListOffsets, OffsetForLeaderEpoch, DeleteRecords


async def list_offsets(ask: Asker, topic: str, *asked: tuple[int, int, int], **more: int) -> None:
    """Partition, timestamp and the epoch that is known."""
    parts = tuple(
        ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
        for index, timestamp, epoch in asked
    )
    await ask(ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=parts),), **more))


async def offsets(ask: Asker) -> None:
    name = await ask.create("offsets", 2)
    for n in range(4):
        await produce(ask, name, (0, batch("a", "b", at=NOW + 10 * (n if n != 2 else 7))))
    stamps = [-1, -2, -3, -4, -5, -6, -7, -100, 0, NOW - 1, NOW, NOW + 1, NOW + 5, NOW + 30, NOW + 31, NOW + 69]
    stamps += [NOW + 70, NOW + 71, NOW + 72, LONG_MAX]
    isolation = [{}] if ask.level is Level.LOWEST else [{"isolation_level": n} for n in (0, 1, 2)]
    for more in isolation:
        for stamp in stamps:
            await list_offsets(ask, name, (0, stamp, -1), **more)
            await list_offsets(ask, name, (1, stamp, -1), **more)
    for epoch in (0, 1):
        await list_offsets(ask, name, (0, -1, epoch))
    await list_offsets(ask, name, (5, -1, -1), (-1, -1, -1), (0, -1, -1))
    await list_offsets(ask, name, (0, -1, -1), (1, -1, -1), (0, -2, -1))
    for missing in (ask.name("nobody"), "", ".."):
        await list_offsets(ask, missing, (0, -1, -1))
    await list_offsets(ask, name)
    await ask(ListOffsetsRequest(replica_id=-1, topics=()))
    part = (ListOffsetsPartition(partition_index=0, timestamp=-1),)
    for replica in (-2, 1, 7):
        await ask(ListOffsetsRequest(replica_id=replica, topics=(ListOffsetsTopic(name=name, partitions=part),)))


async def ends_of_epochs(ask: Asker) -> None:
    name = await ask.create("ends", 2)
    await produce(ask, name, (0, batch("a", "b")))
    for index in (0, 1, 2, -1):
        for current in (-1, 0, 1):
            for epoch in (-2, -1, 0, 1, 5):
                part = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
                await ask(OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic=name, partitions=(part,)),)))
    part = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    for topic in (ask.name("nobody"), ""):
        await ask(OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic=topic, partitions=(part, part)),)))
    topics = (
        OffsetForLeaderTopic(topic=ask.name("nobody"), partitions=(part,)),
        OffsetForLeaderTopic(topic=name, partitions=(part,)),
    )
    await ask(OffsetForLeaderEpochRequest(topics=topics))
    await ask(OffsetForLeaderEpochRequest(topics=()))


async def delete_records(ask: Asker, topic: str, *asked: tuple[int, int]) -> None:
    parts = tuple(DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in asked)
    topics = (DeleteRecordsTopic(name=topic, partitions=parts),)
    await ask(DeleteRecordsRequest(topics=topics, timeout_ms=30_000))


async def deleted_records(ask: Asker) -> None:
    name = await ask.create("deleted-records", 2)
    for _ in range(4):
        await produce(ask, name, (0, batch("a", "b")))
    for offset in (0, 3, 2, 3, -2, 9, LONG_MAX, 8, -1):
        await delete_records(ask, name, (0, offset))
        await list_offsets(ask, name, (0, -2, -1), (0, -1, -1))
        await fetch(ask, name, 0, 0)
    await delete_records(ask, name, (1, -1), (1, 0))
    await delete_records(ask, name, (1, 1), (2, 0), (-1, 0))
    for missing in (ask.name("nobody"), "", ".."):
        await delete_records(ask, missing, (0, 0))
    await delete_records(ask, name)
    await ask(DeleteRecordsRequest(topics=(), timeout_ms=30_000))
    for policy in ("compact", "compact,delete", ""):
        other = await ask.create(f"deleted-{policy.replace(',', '-')}", cleanup_policy=policy)
        await produce(ask, other, (0, batch("a")))
        await delete_records(ask, other, (0, 1))


CASES: list[Case] = [
    produced,
    produced_to_nobody,
    topics_of_brokers,
    bad_batches,
    too_large,
    times,
    compacted,
    sequences,
    producer_ids,
    fetched,
    fetched_from_nobody,
    fetched_in_epochs,
    fetched_in_sessions,
    fetched_as_a_follower,
    offsets,
    ends_of_epochs,
    deleted_records,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
