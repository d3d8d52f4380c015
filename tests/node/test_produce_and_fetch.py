"""Produce and fetch over a real socket, by the raw protocol."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from crc32c import crc32c

from odradek.broker.broker import Broker
from odradek.broker.dispatch import Dispatch, Served
from odradek.broker.fetching.fetch_sessions import FetchSessions
from odradek.broker.fetching.read_ahead import ReadAhead
from odradek.broker.handlers import api_versions, fetch, list_offsets, produce
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.validations import Validations
from odradek.broker.producing.transactional_produce import Gate, TransactionalIdRefused
from odradek.broker.quotas.quotas import Quotas
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.net.socket_server import SocketServer
from odradek.process.files import OsFiles
from odradek.process.sockets import SystemNetwork
from odradek.process.tasks import Tasks
from odradek.records.batch import CRC_START, HEAD_SIZE, Codec, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record, read_records
from odradek.storage.flush import Flusher
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from support.clock import ManualClock
from support.pool import ManualPool
from support.raw_client import RawClient
from support.waiting import until

CLOCK = ManualClock()


class Client(RawClient):
    """Knows the one topic of these tests."""

    async def produce(
        self, batch: bytes | bytearray | None, acks: int = -1, version: int = 9
    ) -> PartitionProduceResponse:
        response = await self.ask(produce_request(batch, acks), ProduceResponse, version)
        return response.responses[0].partition_responses[0]

    async def fetch(self, offset: int, max_wait_ms: int = 0) -> PartitionData:
        response = await self.ask(fetch_request(offset, max_wait_ms), FetchResponse, 11)
        return response.responses[0].partitions[0]


def produce_request(
    batch: bytes | bytearray | None, acks: int = -1, topic: str = "orders", timeout_ms: int = 30_000
) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=batch),))
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=(data,))


def fetch_request(offset: int, max_wait_ms: int = 0, min_bytes: int = 1) -> FetchRequest:
    part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic="orders", partitions=(part,))
    return FetchRequest(topics=(topic,), max_wait_ms=max_wait_ms, min_bytes=min_bytes)


def batch_of(*values: str, **spec: object) -> bytearray:
    records = [Record(Offset(n), CLOCK.now_ms(), b"k", value.encode()) for n, value in enumerate(values)]
    return build_batch(records, replace(BatchSpec(), **spec))  # type: ignore[arg-type]


def values_of(data: PartitionData) -> list[str]:
    view = memoryview(data.records)  # type: ignore[arg-type]
    found = []
    while view:
        head = parse_head(view)
        found += [record.value.decode() for record in read_records(view[: head.size], head) if record.value]
        view = view[head.size :]
    return found


def no_transactions(_version: int, _request: ProduceRequest) -> Gate:
    raise TransactionalIdRefused("there is no coordinator here")


@asynccontextmanager
async def broker_with(
    root: Path, config: TopicConfig, threads: Executor | None = None
) -> AsyncIterator[tuple[Client, Broker, str, int]]:
    files = OsFiles()
    logs = LogDirs.open(OpenFiles(files), [str(root)], Setting(CLOCK, lambda _: config, lambda: "0" * 32))
    with ThreadPoolExecutor(2) as pool:
        broker = Broker(1, "cluster", Flusher(pool if threads is None else threads))
        where = TopicPartition("orders", 0)
        broker.partitions[where] = Partition(logs.create(where, "A" * 22), LeaderEpoch(0), CLOCK, broker.flusher)
        sessions = FetchSessions(CLOCK, Random(0))
        quotas = Quotas(BrokerConfig(), CLOCK)
        served: dict[int, Served] = {
            0: Served(
                produce.VERSIONS,
                produce.Produce(
                    broker, no_transactions, quotas.produced, Validations(pool if threads is None else threads)
                ).handle,
            ),
            1: Served(fetch.VERSIONS, fetch.Fetch(broker, sessions, ReadAhead(files, pool), quotas.fetched).handle),
            2: Served(list_offsets.VERSIONS, list_offsets.ListOffsets(broker).handle),
        }
        served[18] = Served(api_versions.VERSIONS, api_versions.ApiVersions(served, broker).handle)
        async with Tasks() as tasks, asyncio.timeout(30):
            server = SocketServer(SystemNetwork(), Dispatch(served, tasks, quotas.requests))
            host, port = server.listen("127.0.0.1", 0).address
            reader, writer = await asyncio.open_connection(host, port)
            try:
                yield Client(reader, writer), broker, host, port
            finally:
                writer.close()
                server.close()
    logs.close()


Scenario = Callable[[Client, Broker, str, int], Awaitable[None]]
DEFAULT = TopicConfig()


def run(root: Path, scenario: Scenario, config: TopicConfig = DEFAULT, threads: Executor | None = None) -> None:
    """`threads` take the place of those that sync, and that validate long batches."""

    async def main() -> None:
        async with broker_with(root, config, threads) as parts:
            await scenario(*parts)

    asyncio.run(main())


@pytest.mark.parametrize("version", [3, 5, 8, 9, 11, 12])
def test_what_is_produced_is_fetched(tmp_path: Path, version: int) -> None:
    async def scenario(client: Client, *_: object) -> None:
        assert (await client.produce(batch_of("a", "b"), version=version)).base_offset == 0
        assert (await client.produce(batch_of("c"), version=version)).base_offset == 2
        assert values_of(await client.fetch(0)) == ["a", "b", "c"]
        assert values_of(await client.fetch(1)) == ["a", "b", "c"]  # the whole batch, from its start
        found = await client.fetch(2)
        assert (values_of(found), found.high_watermark) == (["c"], 3)

    run(tmp_path, scenario)


def test_each_error_has_its_code_and_the_connection_goes_on(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        broken = batch_of("x")
        broken[-1] ^= 1
        assert (await client.produce(broken)).error_code == ErrorCode.CORRUPT_MESSAGE
        assert (await client.produce(batch_of("a") + batch_of("b"))).error_code == ErrorCode.INVALID_RECORD
        assert (await client.produce(b"")).error_code == ErrorCode.INVALID_RECORD
        assert (await client.produce(batch_of("x"), acks=2)).error_code == ErrorCode.INVALID_REQUIRED_ACKS
        assert (await client.produce(batch_of("x" * 2_000_000))).error_code == ErrorCode.MESSAGE_TOO_LARGE
        unknown = await client.ask(produce_request(batch_of("x"), topic="nothing"), ProduceResponse, 9)
        assert unknown.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (await client.fetch(5)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (await client.produce(batch_of("good"))).base_offset == 0

    run(tmp_path, scenario)


def test_a_fetch_waits_for_records_and_not_longer_than_it_said(tmp_path: Path) -> None:
    async def scenario(client: Client, broker: Broker, host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        other = Client(reader, writer)
        client.send(fetch_request(0, max_wait_ms=30_000), 11)
        partition = broker.partitions[TopicPartition("orders", 0)]
        async with asyncio.timeout(20):
            await until(lambda: partition.waiters.readers)
            await other.produce(batch_of("late"))
            found = await client.receive(FetchResponse, 11)
        assert values_of(found.responses[0].partitions[0]) == ["late"]
        assert not partition.waiters.readers
        writer.close()
        empty = await client.fetch(1, max_wait_ms=1)
        assert (values_of(empty), empty.error_code) == ([], 0)

    run(tmp_path, scenario)


def test_a_waiting_fetch_is_forgotten_when_its_client_leaves(tmp_path: Path) -> None:
    async def scenario(_: Client, broker: Broker, host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        Client(reader, writer).send(fetch_request(0, max_wait_ms=1_000_000), 11)
        partition = broker.partitions[TopicPartition("orders", 0)]
        await until(lambda: partition.waiters.readers)
        writer.close()
        await until(lambda: not partition.waiters.readers)

    run(tmp_path, scenario)


def test_without_acknowledgement_there_is_no_answer(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        client.send(produce_request(batch_of("quiet"), acks=0), 9)
        assert (await client.produce(batch_of("loud"))).base_offset == 1
        client.send(produce_request(b"garbage" * 20, acks=0), 9)
        assert await client.is_cut_off()

    run(tmp_path, scenario)


def test_with_flush_messages_1_an_answer_means_synced(tmp_path: Path) -> None:
    async def scenario(client: Client, broker: Broker, *_: object) -> None:
        for number in range(5):
            assert (await client.produce(batch_of(f"{number}"))).base_offset == number
            assert broker.partitions[TopicPartition("orders", 0)].log.recovery_point == number + 1

    run(tmp_path, scenario, TopicConfig(flush_messages=1))


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_with_flush_messages_1_nobody_sees_a_record_before_it_is_synced(tmp_path: Path, acks: int) -> None:
    pool = ManualPool()

    async def latest(client: Client) -> int:
        part = ListOffsetsPartition(partition_index=0, timestamp=-1)
        request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=(part,)),))
        return (await client.ask(request, ListOffsetsResponse, 7)).topics[0].partitions[0].offset

    async def scenario(client: Client, broker: Broker, host: str, port: int) -> None:
        others = [Client(*await asyncio.open_connection(host, port)) for _ in range(2)]
        producer, reader = others
        reader.send(fetch_request(0, max_wait_ms=30_000), 11)
        partition = broker.partitions[TopicPartition("orders", 0)]
        await until(lambda: partition.waiters.readers)
        producer.send(produce_request(batch_of("a"), acks=acks), 9)
        await until(lambda: len(pool))
        for offset in (0, 1):
            found = await client.fetch(offset)
            assert (found.error_code, found.high_watermark, found.last_stable_offset, values_of(found)) == (0, 0, 0, [])
        assert await latest(client) == 0
        assert partition.waiters.readers
        pool.run_next()
        (topic,) = (await reader.receive(FetchResponse, 11)).responses
        assert (topic.partitions[0].high_watermark, values_of(topic.partitions[0])) == (1, ["a"])
        assert await latest(client) == 1
        if acks:
            answer = await producer.receive(ProduceResponse, 9)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        for each in others:
            await each.close()

    run(tmp_path, scenario, TopicConfig(flush_messages=1), pool)
    assert len(pool) == 0, "one sync serves all"


def test_with_acks_all_a_client_says_how_long_it_waits(tmp_path: Path) -> None:
    pool = ManualPool()

    async def scenario(client: Client, broker: Broker, *_: object) -> None:
        response = await client.ask(produce_request(batch_of("late"), timeout_ms=20), ProduceResponse, 9)
        part = response.responses[0].partition_responses[0]
        assert (part.error_code, part.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
        partition = broker.partitions[TopicPartition("orders", 0)]
        assert not partition.waiters.offsets
        pool.run_next()
        await until(lambda: partition.log.high_watermark == 1)

    run(tmp_path, scenario, TopicConfig(flush_messages=1), pool)


def test_a_batch_that_is_sent_again_waits_as_the_first_does(tmp_path: Path) -> None:
    pool = ManualPool()
    batch = bytes(batch_of("once", producer_id=7, producer_epoch=0, base_sequence=0))

    async def scenario(client: Client, broker: Broker, host: str, port: int) -> None:
        partition = broker.partitions[TopicPartition("orders", 0)]
        again = Client(*await asyncio.open_connection(host, port))
        client.send(produce_request(batch), 9)
        await until(lambda: len(pool))
        again.send(produce_request(batch), 9)
        await until(lambda: len(partition.waiters.offsets) == 2)
        pool.run_next()
        for each in (client, again):
            part = (await each.receive(ProduceResponse, 9)).responses[0].partition_responses[0]
            assert (part.error_code, part.base_offset) == (ErrorCode.NONE, 0)
        assert partition.log.end_offset == 1
        await again.close()

    run(tmp_path, scenario, TopicConfig(flush_messages=1), pool)


COMPACTED = TopicConfig(cleanup_policy=("compact",))


def keyless(count: int) -> bytearray:
    records = [Record(Offset(number), CLOCK.now_ms(), None, b"") for number in range(count)]
    return build_batch(records, replace(BatchSpec(), codec=Codec.ZSTD))


def test_a_batch_that_takes_long_to_validate_holds_its_connection_and_nobody_else(tmp_path: Path) -> None:
    """Hostile ones have millions of records in a megabyte."""
    pool = ManualPool()

    async def scenario(client: Client, broker: Broker, host: str, port: int) -> None:
        log = broker.partitions[TopicPartition("orders", 0)].log
        other = Client(*await asyncio.open_connection(host, port))
        client.send(produce_request(keyless(20_000)), 9)
        await until(lambda: len(pool) == 1)
        client.send(produce_request(with_key("behind it")), 9)
        assert (await other.produce(with_key("of another"))).base_offset == 0
        assert values_of(await other.fetch(0)) == ["of another"]
        assert log.end_offset == 1, "what is behind it waits"
        pool.run_next()
        refused = (await client.receive(ProduceResponse, 9)).responses[0].partition_responses[0]
        assert refused.error_code == ErrorCode.INVALID_RECORD
        assert len(refused.record_errors) == 1_000, "not all of them are named"
        behind = (await client.receive(ProduceResponse, 9)).responses[0].partition_responses[0]
        assert (behind.error_code, behind.base_offset) == (ErrorCode.NONE, 1)
        await other.close()

    run(tmp_path, scenario, COMPACTED, pool)
    assert len(pool) == 0


def with_key(value: str) -> bytearray:
    return build_batch([Record(Offset(0), CLOCK.now_ms(), b"key", value.encode())], BatchSpec())


def test_long_batches_of_a_producer_are_written_in_their_order(tmp_path: Path) -> None:
    values = [[f"{number}-{at}" for at in range(1_500)] for number in range(4)]

    async def scenario(client: Client, *_: object) -> None:
        for number, each in enumerate(values):
            spec = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number * 1_500}
            client.send(produce_request(batch_of(*each, **spec)), 9)
        for number in range(4):
            part = (await client.receive(ProduceResponse, 9)).responses[0].partition_responses[0]
            assert (part.error_code, part.base_offset) == (ErrorCode.NONE, number * 1_500)
        found = await client.fetch(0)
        assert values_of(found)[:1_500] == values[0]

    run(tmp_path, scenario, TopicConfig(compression_type="lz4"))


def test_a_short_batch_does_not_overtake_a_long_one_of_its_request(tmp_path: Path) -> None:
    batches = [batch_of(*map(str, range(1_500))), batch_of("short")]
    parts = tuple(PartitionProduceData(index=0, records=each) for each in batches)
    topics = (TopicProduceData(name="orders", partition_data=parts),)

    async def scenario(client: Client, *_: object) -> None:
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)
        response = await client.ask(request, ProduceResponse, 9)
        answered = response.responses[0].partition_responses
        assert [(each.error_code, each.base_offset) for each in answered] == [(0, 0), (0, 1_500)]

    run(tmp_path, scenario, TopicConfig(compression_type="lz4"))


def test_a_long_batch_that_asks_for_no_answer_is_written_though_its_client_leaves(tmp_path: Path) -> None:
    pool = ManualPool()

    async def scenario(client: Client, broker: Broker, *_: object) -> None:
        client.send(produce_request(batch_of(*map(str, range(1_500))), acks=0), 9)
        await until(lambda: len(pool) == 1)
        await client.close()
        pool.run_next()
        await until(lambda: broker.partitions[TopicPartition("orders", 0)].log.end_offset == 1_500)

    run(tmp_path, scenario, TopicConfig(compression_type="lz4"), pool)


def test_a_batch_that_says_that_it_has_billions_of_records(tmp_path: Path) -> None:
    """Of LogAppendTime, which is refused for each of them."""
    batch = keyless(1)
    batch[22] |= 8
    for at, number in ((23, 2**31 - 2), (57, 2**31 - 1)):
        batch[at : at + 4] = number.to_bytes(4, "big")
    batch[17:21] = crc32c(batch[CRC_START:]).to_bytes(4, "big")

    async def scenario(client: Client, *_: object) -> None:
        refused = await client.produce(batch)
        assert refused.error_code == ErrorCode.INVALID_TIMESTAMP
        assert len(refused.record_errors) == 1_000

    run(tmp_path, scenario)


@pytest.mark.parametrize(("name", "codec"), [("gzip", Codec.GZIP), ("zstd", Codec.ZSTD), ("uncompressed", Codec.NONE)])
def test_a_topic_with_compression_of_its_own(tmp_path: Path, name: str, codec: Codec) -> None:
    async def scenario(client: Client, *_: object) -> None:
        await client.produce(batch_of("a" * 100, "b", codec=Codec.LZ4))
        found = await client.fetch(0)
        assert values_of(found) == ["a" * 100, "b"]
        assert parse_head(memoryview(found.records)).codec is codec  # type: ignore[arg-type]

    run(tmp_path, scenario, TopicConfig(compression_type=name))  # type: ignore[arg-type]


def test_a_topic_with_append_time(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        old = build_batch([Record(Offset(0), TimestampMs(5), None, b"old")])
        answer = await client.produce(old)
        assert answer.log_append_time_ms == CLOCK.now_ms()
        found = await client.fetch(0)
        assert parse_head(memoryview(found.records)).max_timestamp == CLOCK.now_ms()  # type: ignore[arg-type]

    run(tmp_path, scenario, TopicConfig(message_timestamp_type="LogAppendTime"))


def test_compacted_topics_want_keys_and_clocks_may_not_run_ahead(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        keyless = build_batch([Record(Offset(n), CLOCK.now_ms(), key, b"x") for n, key in enumerate((b"k", None))])
        refused = await client.produce(keyless)
        assert refused.error_code == ErrorCode.INVALID_RECORD
        assert ([each.batch_index for each in refused.record_errors], refused.log_start_offset) == ([1], 0)
        ahead = build_batch([Record(Offset(0), TimestampMs(CLOCK.now_ms() + 3_600_001), b"k", b"x")])
        assert (await client.produce(ahead)).error_code == ErrorCode.INVALID_TIMESTAMP

    run(tmp_path, scenario, TopicConfig(cleanup_policy=("compact",)))


def test_lz4_that_java_cannot_read_is_refused_as_kafka_does(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        batch = batch_of("a" * 100, codec=Codec.LZ4)
        assert (await client.produce(batch)).base_offset == 0
        batch[HEAD_SIZE + 4] &= ~0b10_0000  # "blocks are independent"
        with_crc(batch)
        assert (await client.produce(batch)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        short = batch[: HEAD_SIZE + 5]
        short[8:12] = (len(short) - 12).to_bytes(4, "big")
        with_crc(short)
        assert (await client.produce(short)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    def with_crc(batch: bytearray) -> None:
        batch[CRC_START - 4 : CRC_START] = crc32c(batch[CRC_START:]).to_bytes(4, "big")

    run(tmp_path, scenario)


def test_one_whole_batch_for_a_partition(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        good = batch_of("a")
        for bad in (None, b"", good[:20], good[:-1], good + good):
            assert (await client.produce(bad and bytearray(bad))).error_code == ErrorCode.INVALID_RECORD
        elsewhere = bytearray(good)
        elsewhere[:8] = (7).to_bytes(8, "big")
        assert (await client.produce(elsewhere)).error_code == ErrorCode.INVALID_RECORD
        assert (await client.produce(good + b"the beginning of another")).error_code == ErrorCode.NONE
        assert (await client.produce(batch_of("b", codec=Codec.ZSTD), version=6)).error_code == (
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        )
        assert values_of(await client.fetch(0)) == ["a"]

    run(tmp_path, scenario)


def test_a_partition_that_is_named_twice_is_written_and_answered_twice(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        parts = tuple(PartitionProduceData(index=0, records=batch_of(value)) for value in ("first", "second"))
        topic = TopicProduceData(name="orders", partition_data=parts)
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,))
        (answered,) = (await client.ask(request, ProduceResponse, 9)).responses
        assert [(part.error_code, part.base_offset) for part in answered.partition_responses] == [(0, 0), (0, 1)]
        assert values_of(await client.fetch(0)) == ["first", "second"]

    run(tmp_path, scenario)


def test_offsets_are_listed_by_time_and_by_the_ends(tmp_path: Path) -> None:
    async def scenario(client: Client, *_: object) -> None:
        for time in (1000, 2000, 3000):
            await client.produce(build_batch([Record(Offset(0), TimestampMs(time), b"k", b"v")]))

        async def ask(timestamp: int) -> tuple[int, int]:
            part = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
            request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=(part,)),))
            response = await client.ask(request, ListOffsetsResponse, 7)
            answer = response.topics[0].partitions[0]
            return answer.offset, answer.timestamp

        assert await ask(-1) == (3, -1)
        assert await ask(-2) == (0, -1)
        assert await ask(-3) == (2, 3000)
        assert await ask(1500) == (1, 2000)
        assert await ask(9000) == (-1, -1)

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("version", "timestamp", "expected"),
    [
        (1, -1, (0, 2, -1)),  # old versions have no epochs
        (4, -1, (0, 2, 0)),
        (6, -3, (ErrorCode.UNSUPPORTED_VERSION, -1, -1)),
        (7, -3, (0, 1, 0)),
        (10, -6, (ErrorCode.UNSUPPORTED_VERSION, -1, -1)),
        (11, -6, (0, -1, -1)),
        (11, -7, (ErrorCode.UNSUPPORTED_VERSION, -1, -1)),
    ],
)
def test_what_a_timestamp_stands_for_depends_on_the_version(
    tmp_path: Path, version: int, timestamp: int, expected: tuple[int, int, int]
) -> None:
    async def scenario(client: Client, *_: object) -> None:
        await client.produce(build_batch([Record(Offset(n), TimestampMs(1000 + n), b"k", b"v") for n in range(2)]))
        part = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=(part,)),))
        (found,) = (await client.ask(request, ListOffsetsResponse, version)).topics[0].partitions
        assert (found.error_code, found.offset, found.leader_epoch) == expected

    run(tmp_path, scenario)


def test_a_client_from_the_future_learns_what_is_served(tmp_path: Path) -> None:
    async def scenario(client: Client, _broker: Broker, host: str, port: int) -> None:
        answer = await client.ask(
            ApiVersionsRequest(client_software_name="raw", client_software_version="1"), ApiVersionsResponse, 4
        )
        assert [key.api_key for key in answer.api_keys] == [0, 1, 2, 18]
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(bytes.fromhex("0000000b 0012 0063 00000000 ffff 00".replace(" ", "")))
        future = await Client(reader, writer).receive(ApiVersionsResponse, 0)
        assert future.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert len(future.api_keys) == 4
        writer.close()

    run(tmp_path, scenario)


@pytest.mark.parametrize("frame", ["00000000", "00000004 00000000", "0000000a 03e7 0000 00000001 ffff", "ffffffff"])
def test_garbage_ends_the_connection_and_no_other(tmp_path: Path, frame: str) -> None:
    async def scenario(client: Client, _broker: Broker, host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(bytes.fromhex(frame.replace(" ", "")))
        assert await reader.read() == b""
        writer.close()
        assert (await client.produce(batch_of("still here"))).base_offset == 0

    run(tmp_path, scenario)
