"""Quotas of clients: set, in force at once, told, and waited for."""

import asyncio
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.model.broker_config import BrokerConfig
from odradek.model.clock import Clock
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.model.principal import Principal
from odradek.process.clock import SystemClock
from odradek.process.machine import Machine
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.testing.broker import running_broker
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.schema import NO_UUID, Message
from support.clock import ManualClock
from support.quotas import EVERYBODY, set_quotas
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce
from support.waiting import until

SHORT = BrokerConfig(quota_window_num=2, controller_quota_window_num=2)
"""A second of what may come may come at once."""
Story = Callable[[RawClient], Awaitable[None]]


def tell(tmp_path: Path, story: Story, config: BrokerConfig = SHORT, clock: Clock | None = None) -> None:
    """With a `clock` that stands still quotas hold however slow the machine is."""

    async def main() -> None:
        async with node_on(tmp_path, machine=Machine(clock=clock or SystemClock()), config=config) as client:
            await story(client)

    asyncio.run(main())


def produce_request(size: int, acks: int = -1, partitions: int = 1) -> ProduceRequest:
    """A batch for each of some partitions of `orders`."""
    data = tuple(
        PartitionProduceData(
            index=index, records=build_batch([Record(Offset(0), NO_TIMESTAMP, b"k", b"v" * size)], BatchSpec())
        )
        for index in range(partitions)
    )
    topic = TopicProduceData(name="orders", partition_data=data)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=(topic,))


def fetch_request(offset: int = 0, *, max_wait_ms: int = 0, session_epoch: int = -1) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=10_000_000)
    topic = FetchTopic(topic="orders", partitions=(partition,))
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1_000_000, topics=(topic,), session_epoch=session_epoch
    )


def next_in_session(session_id: int, epoch: int) -> FetchRequest:
    return FetchRequest(max_wait_ms=0, min_bytes=1, topics=(), session_id=session_id, session_epoch=epoch)


def size_of(told: FetchResponse) -> int:
    """Of the records of the one partition."""
    records = told.responses[0].partitions[0].records
    assert isinstance(records, (bytes, bytearray, memoryview))
    return len(records)


# --- bytes produced


@pytest.mark.parametrize("version", [8, 9, 12])
@pytest.mark.parametrize("partitions", [1, 2])
def test_a_producer_is_told_how_long_to_wait_and_is_not_heard_before(
    tmp_path: Path, version: int, partitions: int
) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders", 2)
        await set_quotas(client, producer_byte_rate=10_000)
        large = produce_request(10_500 // partitions, partitions=partitions)
        began = time.monotonic()
        told = await client.ask(large, ProduceResponse, version)
        assert told.responses[0].partition_responses[0].error_code == 0
        assert 1050 <= told.throttle_time_ms <= 1150
        await client.ask(produce_request(1), ProduceResponse, version)
        assert time.monotonic() - began >= (told.throttle_time_ms - 5) / 1000

    tell(tmp_path, story)


def test_without_acknowledgement_a_producer_is_held_back_all_the_same(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        await set_quotas(client, producer_byte_rate=10_000)
        began = time.monotonic()
        client.send(produce_request(11_000, acks=0), 9)
        asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        await client.ask(asked, ApiVersionsResponse, 3)
        assert time.monotonic() - began >= 1.0

    tell(tmp_path, story)


def test_what_is_refused_counts_too(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders", max_message_bytes="1000")
        await set_quotas(client, producer_byte_rate=10_000)
        for partitions in (1, 2):  # read by hand, and by the codec
            connection = await client.another()
            told = await connection.ask(produce_request(11_000, partitions=partitions), ProduceResponse, 9)
            assert told.responses[0].partition_responses[0].error_code == ErrorCode.MESSAGE_TOO_LARGE
            assert told.throttle_time_ms > 0
            await connection.close()

    tell(tmp_path, story, clock=ManualClock())


def test_a_client_id_has_its_own_and_a_removed_quota_holds_nobody(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        await set_quotas(client, {"client-id": "another"}, producer_byte_rate=1)
        assert (await client.ask(produce_request(10_000), ProduceResponse, 9)).throttle_time_ms == 0
        await set_quotas(client, {"client-id": "raw-client"}, producer_byte_rate=1_000_000)
        assert (await client.ask(produce_request(10_000), ProduceResponse, 9)).throttle_time_ms == 0
        await set_quotas(client, {"client-id": "raw-client"}, producer_byte_rate=None)
        await set_quotas(client, {"user": None, "client-id": None}, producer_byte_rate=10_000)
        other = await client.another()
        assert (await client.ask(produce_request(11_000), ProduceResponse, 9)).throttle_time_ms > 0
        await set_quotas(other, {"user": None, "client-id": None}, producer_byte_rate=None)
        assert (await other.ask(produce_request(100_000), ProduceResponse, 9)).throttle_time_ms == 0
        await other.close()

    tell(tmp_path, story, clock=ManualClock())


# --- bytes fetched


@pytest.mark.parametrize("version", [4, 12])
def test_a_consumer_over_its_quota_gets_an_empty_answer_and_the_records_later(tmp_path: Path, version: int) -> None:
    clock = ManualClock()

    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        for _ in range(4):
            await produce(client, "orders", "x" * 6_000)
        await set_quotas(client, consumer_byte_rate=10_000)
        told = await client.ask(fetch_request(), FetchResponse, version)
        assert told.throttle_time_ms == 0
        assert size_of(told) == 10_000, "as much as may come at once"
        told = await client.ask(fetch_request(1), FetchResponse, version)
        assert (told.error_code, told.responses, told.session_id) == (0, (), 0)
        assert told.throttle_time_ms == 2_000
        clock.advance(told.throttle_time_ms)
        other = await client.another()
        assert size_of(await other.ask(fetch_request(1), FetchResponse, version)) == 10_000
        await other.close()

    tell(tmp_path, story, clock=clock)


def test_a_session_goes_on_after_an_empty_answer(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        await produce(client, "orders", "x" * 6_000)
        session = (await client.ask(fetch_request(session_epoch=0), FetchResponse, 12)).session_id
        await set_quotas(client, consumer_byte_rate=1_000)
        told = await client.ask(next_in_session(session, 1), FetchResponse, 12)
        assert (told.session_id, told.responses) == (session, ())
        assert told.throttle_time_ms > 0
        other = await client.another()
        await set_quotas(other, consumer_byte_rate=None)
        told = await other.ask(next_in_session(session, 2), FetchResponse, 12)
        assert told.session_id == session
        assert size_of(told) > 6_000
        await other.close()

    tell(tmp_path, story)


def test_a_fetch_that_waited_is_held_to_the_quota_too(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        await set_quotas(client, consumer_byte_rate=1_000)
        other = await client.another()
        client.send(fetch_request(max_wait_ms=30_000), 12)
        await produce(other, "orders", "x" * 6_000)
        told = await client.receive(FetchResponse, 12)
        assert told.responses == ()
        assert told.throttle_time_ms > 0
        await other.close()

    tell(tmp_path, story)


# --- time


def test_a_client_that_takes_too_much_time_waits_whatever_it_asks_for(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        await produce(client, "orders", "x")
        await set_quotas(client, request_percentage=1e-6)
        asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        cases: list[tuple[Message, type[Any], int]] = [
            (asked, ApiVersionsResponse, 3),
            (produce_request(10), ProduceResponse, 9),
            (MetadataRequest(topics=None), MetadataResponse, 12),
            (CreateTopicsRequest(topics=()), CreateTopicsResponse, 7),
        ]
        for request, response, version in cases:
            connection = await client.another()
            assert (await connection.ask(request, response, version)).throttle_time_ms == 1000
            await connection.close()
        connection = await client.another()
        told = await connection.ask(fetch_request(), FetchResponse, 12)
        assert (told.throttle_time_ms, told.responses) == (1000, ())
        await connection.close()

    tell(tmp_path, story)


def test_a_client_that_takes_too_much_time_is_not_heard_for_a_while(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await set_quotas(client, request_percentage=1e-6)
        asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        began = time.monotonic()
        await client.ask(asked, ApiVersionsResponse, 3)
        await client.ask(asked, ApiVersionsResponse, 3)
        assert time.monotonic() - began >= 0.99

    tell(tmp_path, story)


def test_a_large_share_holds_nobody_back(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await create_topic(client, "orders")
        await set_quotas(client, request_percentage=100_000)
        assert (await client.ask(produce_request(10), ProduceResponse, 9)).throttle_time_ms == 0
        assert (await client.ask(fetch_request(), FetchResponse, 12)).throttle_time_ms == 0

    tell(tmp_path, story)


# --- changes


def creation(*names: str, partitions: int) -> CreateTopicsRequest:
    topics = tuple(
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
        for name in names
    )
    return CreateTopicsRequest(topics=topics)


def test_changes_beyond_the_quota_are_refused_to_clients_that_know_the_refusal(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await set_quotas(client, controller_mutation_rate=0.01)
        told = await client.ask(creation("a", "b", partitions=2), CreateTopicsResponse, 7)
        codes = {topic.name: topic.error_code for topic in told.topics}
        assert codes == {"a": 0, "b": ErrorCode.THROTTLING_QUOTA_EXCEEDED}
        assert told.throttle_time_ms > 100_000
        connection = await client.another()
        growth = CreatePartitionsTopic(name="a", count=3, assignments=None)
        grown = await connection.ask(
            CreatePartitionsRequest(topics=(growth,), timeout_ms=1000, validate_only=False), CreatePartitionsResponse, 3
        )
        assert grown.results[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert grown.throttle_time_ms > 100_000
        await connection.close()
        connection = await client.another()
        doomed = DeleteTopicsRequest(topics=(DeleteTopicState(name="a", topic_id=NO_UUID),), timeout_ms=1000)
        deleted = await connection.ask(doomed, DeleteTopicsResponse, 6)
        assert deleted.responses[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        await connection.close()

    tell(tmp_path, story)


def test_older_clients_are_served_and_wait(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await set_quotas(client, controller_mutation_rate=0.01)
        told = await client.ask(creation("a", "b", partitions=2), CreateTopicsResponse, 5)
        assert [topic.error_code for topic in told.topics] == [0, 0]
        assert told.throttle_time_ms > 300_000

    tell(tmp_path, story)


def test_topics_on_demand_count_against_the_quota_of_who_asks_for_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(client: RawClient) -> None:
        await set_quotas(client, controller_mutation_rate=0.01)
        await client.ask(creation("a", partitions=2), CreateTopicsResponse, 7)
        asked = MetadataRequest(topics=(MetadataRequestTopic(name="b"),), allow_auto_topic_creation=True)
        await client.ask(asked, MetadataResponse, 9)
        await until(lambda: "a topic cannot be made on demand" in caplog.messages)

    tell(tmp_path, story)


# --- kept


async def described(client: RawClient) -> dict[str, float]:
    asked = DescribeClientQuotasRequest(components=(), strict=False)
    told = await client.ask(asked, DescribeClientQuotasResponse, 1)
    return {
        f"{entity.entity_name}:{value.key}": value.value
        for entry in told.entries or ()
        for entity in entry.entity
        for value in entry.values
    }


def test_quotas_are_in_force_after_a_restart(tmp_path: Path) -> None:
    async def before(client: RawClient) -> None:
        await create_topic(client, "orders")
        await set_quotas(client, producer_byte_rate=10_000)

    async def after(client: RawClient) -> None:
        assert await described(client) == {"ANONYMOUS:producer_byte_rate": 10_000}
        assert (await client.ask(produce_request(11_000), ProduceResponse, 9)).throttle_time_ms > 0

    tell(tmp_path, before)
    tell(tmp_path, after)


def test_the_quota_that_apache_kafka_left_is_in_force(
    golden_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is alice's. Nobody can say yet that he is she, so the test says it for him."""
    shutil.copytree(golden_data / "clean", tmp_path / "data")
    monkeypatch.setattr("odradek.broker.client.ANONYMOUS", Principal("User", "alice"))

    async def main() -> None:
        directories = (tmp_path / "data" / "d1", tmp_path / "data" / "d2")
        async with node_on(*directories, machine=Machine(clock=ManualClock()), ignore_acls=True) as client:
            assert await described(client) == {
                "alice:producer_byte_rate": 1_048_576,
                "alice:consumer_byte_rate": 2_097_152,
            }
            await create_topic(client, "orders", max_message_bytes="20000000")
            assert (await client.ask(produce_request(1_000_000), ProduceResponse, 9)).throttle_time_ms == 0
            told = await client.ask(produce_request(12_000_000), ProduceResponse, 9)
            assert told.throttle_time_ms == pytest.approx(13_000_000 / 1_048_576 * 1000, rel=0.01)

    asyncio.run(main())


# --- connections


@pytest.mark.slow
def test_connections_are_held_to_the_rate_of_the_broker(tmp_path: Path) -> None:
    began = time.monotonic()

    async def story(client: RawClient) -> None:
        for _ in range(5):
            connection = await client.another()
            asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
            await connection.ask(asked, ApiVersionsResponse, 3)
            await connection.close()

    tell(tmp_path, story, BrokerConfig(quota_window_num=2, max_connection_creation_rate=3))
    assert time.monotonic() - began >= 1.99, "three may come at once, and three a second"


def test_connections_of_an_address_are_held_to_its_quota(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        await set_quotas(client, {"ip": "127.0.0.1"}, connection_creation_rate=2)
        connections = [await client.another() for _ in range(3)]
        assert await connections[2].is_cut_off()
        await set_quotas(client, {"ip": "127.0.0.1"}, connection_creation_rate=None)
        connection = await client.another()
        asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        await connection.ask(asked, ApiVersionsResponse, 3)
        for each in (*connections, connection):
            await each.close()

    tell(tmp_path, story, clock=ManualClock())


async def set_broker(client: RawClient, name: str, value: str) -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    answer = await client.ask(request, IncrementalAlterConfigsResponse, 1)
    assert answer.responses[0].error_code == 0, answer


def test_bounds_on_connections_change_while_the_broker_runs(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        others = [await client.another() for _ in range(2)]
        asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        for each in others:
            await each.ask(asked, ApiVersionsResponse, 3)
        await set_broker(client, "max.connections", "2")
        assert await others[0].is_cut_off(), "it was silent longest"
        waiting = await client.another()
        waiting.send(asked, 3)
        await set_broker(client, "listener.name.plaintext.max.connections", "3")
        await set_broker(client, "max.connections", "3")
        await waiting.receive(ApiVersionsResponse, 3)
        for each in (*others, waiting):
            await each.close()

    tell(tmp_path, story)


def test_the_rate_of_connections_changes_while_the_broker_runs(tmp_path: Path) -> None:
    async def story(client: RawClient) -> None:
        asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        await set_broker(client, "listener.name.plaintext.max.connection.creation.rate", "1")
        began = time.monotonic()
        for _ in range(2):
            connection = await client.another()
            await connection.ask(asked, ApiVersionsResponse, 3)
            await connection.close()
        assert time.monotonic() - began >= 0.99

    tell(tmp_path, story)


# --- clients that people use


@contextmanager
def broker_with_quota(**quotas: float) -> Iterator[str]:
    """Where a broker is whose clients share a quota."""
    with running_broker({"quota.window.num": "2"}) as broker:

        async def set_them() -> None:
            client = await RawClient.connect("127.0.0.1", broker.port)
            await create_topic(client, "orders")
            await set_quotas(client, EVERYBODY, **quotas)
            await client.close()

        asyncio.run(set_them())
        yield f"127.0.0.1:{broker.port}"


RATE, RECORD_BYTES, RECORDS = 200_000, 1_000, 600


def write(servers: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "batch.size": 5_000, "linger.ms": 5})
    for _ in range(count):
        producer.produce("orders", b"x" * RECORD_BYTES, partition=0)
    assert producer.flush(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("producers", [1, 10])
def test_producers_are_not_faster_than_their_quota(producers: int) -> None:
    """Slow machines cannot make this fail: they make producers slower."""
    with broker_with_quota(producer_byte_rate=RATE) as servers:
        began = time.monotonic()
        threads = [threading.Thread(target=write, args=(servers, RECORDS // producers)) for _ in range(producers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = RECORDS * RECORD_BYTES / (time.monotonic() - began)
    assert rate <= 1.1 * RATE


@pytest.mark.slow
def test_consumers_are_not_faster_than_their_quota() -> None:
    with broker_with_quota(consumer_byte_rate=RATE) as servers:
        write(servers, RECORDS)
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "fetch.message.max.bytes": 50_000})
        began = time.monotonic()
        consumer.assign([TopicPartition("orders", 0, 0)])
        seen = 0
        while seen < RECORDS:
            message = consumer.poll(60)
            assert message is not None
            assert message.error() is None
            seen += 1
        rate = RECORDS * RECORD_BYTES / (time.monotonic() - began)
        consumer.close()
    assert rate <= 1.1 * RATE
