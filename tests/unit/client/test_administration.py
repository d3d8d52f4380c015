"""Quotas, records counted and deleted, and log directories, on a broker that says what it is told to."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.client.client import Client
from odradek.client.counting import count_records
from odradek.client.deleting import delete_records
from odradek.client.errors import Refused
from odradek.client.lag import Extent
from odradek.client.log_dirs import describe_log_dirs, list_replicas
from odradek.client.quotas import FilterComponent, Match, alter_quotas, describe_quotas, matching
from odradek.client.setting import ClientSetting
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import Codec, parse_head
from odradek.records.builder import BatchSpec, build_batch, build_emptied
from odradek.records.record import Record
from odradek.wire.messages import alter_client_quotas as altering
from odradek.wire.messages import describe_client_quotas as describing
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.schema import Message
from support.fake_broker import Asked, FakeBroker
from support.logs import marker

ORDERS = TopicPartition("orders", 0)


class Cluster:
    """One broker with one partition. A test says how it answers everything else."""

    def __init__(self) -> None:
        self.broker = FakeBroker(self._answer)
        self.answers: dict[type[Message], Callable[[Any], Message]] = {}

    def asked(self, kind: type[Message]) -> list[Any]:
        return [each.request for each in self.broker.asked if isinstance(each.request, kind)]

    def _answer(self, asked: Asked) -> None:
        request, address = asked.request, self.broker.address
        if not isinstance(request, MetadataRequest):
            asked.reply(self.answers[type(request)](request))
            return
        part = MetadataResponsePartition(
            partition_index=0, leader_id=1, replica_nodes=(1,), isr_nodes=(1,), offline_replicas=()
        )
        topic = MetadataResponseTopic(name="orders", topic_id=bytes(16), partitions=(part,))
        brokers = (MetadataResponseBroker(node_id=1, host=address.host, port=address.port),)
        asked.reply(MetadataResponse(brokers=brokers, controller_id=1, topics=(topic,) if request.topics else ()))


Test = Callable[[Cluster, Client], Coroutine[Any, Any, None]]


def run(test: Test) -> None:
    async def main() -> None:
        cluster = Cluster()
        async with (
            asyncio.timeout(60),
            cluster.broker.serving(),
            await Client.connect([cluster.broker.address], ClientSetting(timeout_s=60)) as client,
        ):
            await test(cluster, client)

    asyncio.run(main())


# --- quotas


def entry(*entity: tuple[str, str | None], **values: float) -> describing.EntryData:
    return describing.EntryData(
        entity=tuple(describing.EntityData(entity_type=type_, entity_name=name) for type_, name in entity),
        values=tuple(describing.ValueData(key=name, value=value) for name, value in values.items()),
    )


def test_quotas_are_described_in_order() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        entries = (
            entry(("ip", "10.0.0.1"), connection_creation_rate=7.0),
            entry(("client-id", "app"), producer_byte_rate=1.0),
            entry(("client-id", None), producer_byte_rate=2.0),
            entry(("client-id", "app"), ("user", "alice"), request_percentage=3.0, consumer_byte_rate=4.0),
            entry(("user", None), producer_byte_rate=5.0),
        )
        cluster.answers[describing.DescribeClientQuotasRequest] = lambda _: describing.DescribeClientQuotasResponse(
            entries=entries
        )
        found = await describe_quotas(client, [FilterComponent("user", Match.ANY)], strict=False)
        assert [(list(each.entity.items()), list(each.quotas.items())) for each in found] == [
            ([("user", None)], [("producer_byte_rate", 5.0)]),
            ([("user", "alice"), ("client-id", "app")], [("consumer_byte_rate", 4.0), ("request_percentage", 3.0)]),
            ([("client-id", None)], [("producer_byte_rate", 2.0)]),
            ([("client-id", "app")], [("producer_byte_rate", 1.0)]),
            ([("ip", "10.0.0.1")], [("connection_creation_rate", 7.0)]),
        ]

    run(test)


def test_quotas_are_asked_for_by_name_and_default() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[describing.DescribeClientQuotasRequest] = lambda _: describing.DescribeClientQuotasResponse()
        assert await describe_quotas(client, matching({"user": "alice", "client-id": None}), strict=True) == []
        (asked,) = cluster.asked(describing.DescribeClientQuotasRequest)
        assert asked == describing.DescribeClientQuotasRequest(
            components=(
                describing.ComponentData(entity_type="user", match_type=0, match="alice"),
                describing.ComponentData(entity_type="client-id", match_type=1, match=None),
            ),
            strict=True,
        )

    run(test)


def test_quotas_that_cannot_be_asked_for() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[describing.DescribeClientQuotasRequest] = lambda _: describing.DescribeClientQuotasResponse(
            error_code=ErrorCode.INVALID_REQUEST, error_message="so it is", entries=None
        )
        with pytest.raises(Refused, match=r"so it is \(INVALID_REQUEST\)"):
            await describe_quotas(
                client, [FilterComponent("ip", Match.ANY), FilterComponent("user", Match.ANY)], strict=False
            )

    run(test)


def test_quotas_are_set_and_taken_back() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        codes = [ErrorCode.NOT_CONTROLLER, ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
        cluster.answers[altering.AlterClientQuotasRequest] = lambda request: altering.AlterClientQuotasResponse(
            entries=(altering.EntryResult(error_code=codes.pop(0), entity=request.entries[0].entity),)
        )
        changes = {"producer_byte_rate": 5.5, "consumer_byte_rate": None}
        assert await alter_quotas(client, {"user": None}, changes, validate_only=True) is None
        refused = await alter_quotas(client, {"user": None}, changes)
        assert refused is not None
        assert refused.code is ErrorCode.INVALID_REQUEST
        _, asked, again = cluster.asked(altering.AlterClientQuotasRequest)
        (sent,) = asked.entries
        assert [(each.key, each.value, each.remove) for each in sent.ops] == [
            ("producer_byte_rate", 5.5, False),
            ("consumer_byte_rate", 0.0, True),
        ]
        assert [(each.entity_type, each.entity_name) for each in sent.entity] == [("user", None)]
        assert (asked.validate_only, again.validate_only) == (True, False)

    run(test)


# --- records


def records(*offsets: int, **spec: Any) -> bytes:
    made = [Record(Offset(offset), TimestampMs(0), None, b"v") for offset in offsets]
    return bytes(build_batch(made, BatchSpec(base_offset=Offset(offsets[0]), **spec)))


def at(offset: int, batch: bytes | bytearray | memoryview) -> bytes:
    return offset.to_bytes(8, "big") + bytes(batch[8:])


def fetched(batches: bytes) -> FetchResponse:
    data = PartitionData(partition_index=0, high_watermark=15, aborted_transactions=None, records=batches)
    return FetchResponse(responses=(FetchableTopicResponse(topic="orders", partitions=(data,)),))


LOG = (
    records(0, 1, 2, 3, codec=Codec.GZIP),
    records(4, 7, last_offset_delta=5),  # compaction took four
    at(10, marker(5, 0, commit=True)),
    bytes(build_emptied(parse_head(memoryview(records(11, 12))))),
    records(13, 14),
)
ENDS = (4, 10, 11, 13, 15)


@pytest.mark.parametrize("batches_max", [1, 2, 5])
@pytest.mark.parametrize(("start", "end", "counted"), [(0, 15, 8), (2, 15, 6), (5, 15, 3), (0, 10, 6), (15, 15, 0)])
def test_records_are_counted_whatever_a_fetch_gives(start: int, end: int, counted: int, batches_max: int) -> None:
    def answer(request: FetchRequest) -> FetchResponse:
        wanted = request.topics[0].partitions[0].fetch_offset
        first = next((number for number, behind in enumerate(ENDS) if behind > wanted), len(LOG))
        found = LOG[first : first + batches_max + 1]
        cut = b"".join(found[:batches_max]) + (found[batches_max][:70] if len(found) > batches_max else b"")
        return fetched(cut)

    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[FetchRequest] = answer
        assert await count_records(client, {ORDERS: Extent(Offset(start), Offset(end))}) == {ORDERS: counted}

    run(test)


def test_a_count_ends_where_nothing_comes() -> None:
    """The last batches of a log may be gone when they are asked for."""

    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[FetchRequest] = lambda _: fetched(b"")
        assert await count_records(client, {ORDERS: Extent(Offset(0), Offset(15))}) == {ORDERS: 0}

    run(test)


def test_records_that_make_no_sense_are_not_counted() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[FetchRequest] = lambda _: fetched(bytes(100))
        (outcome,) = (await count_records(client, {ORDERS: Extent(Offset(0), Offset(15))})).values()
        assert isinstance(outcome, Refused)
        assert "magic" in str(outcome)

    run(test)


def test_records_are_deleted_by_the_leader() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        codes = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE]

        def deleted(request: DeleteRecordsRequest) -> DeleteRecordsResponse:
            offset = request.topics[0].partitions[0].offset
            result = DeleteRecordsPartitionResult(partition_index=0, low_watermark=offset, error_code=codes.pop(0))
            return DeleteRecordsResponse(topics=(DeleteRecordsTopicResult(name="orders", partitions=(result,)),))

        cluster.answers[DeleteRecordsRequest] = deleted
        assert await delete_records(client, {ORDERS: Offset(5)}) == {ORDERS: 5}
        (outcome,) = (await delete_records(client, {ORDERS: Offset(99)})).values()
        assert isinstance(outcome, Refused)
        assert outcome.code is ErrorCode.OFFSET_OUT_OF_RANGE

    run(test)


# --- log directories


def test_log_directories() -> None:
    def described(request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        parts = tuple(
            DescribeLogDirsPartition(partition_index=0, partition_size=size, offset_lag=0, is_future_key=is_future)
            for size, is_future in ((100, False), (40, True))
        )
        good = DescribeLogDirsResult(
            log_dir="/a",
            topics=(DescribeLogDirsTopic(name="orders", partitions=parts),),
            total_bytes=1000,
            usable_bytes=300,
        )
        bad = DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir="/b", topics=())
        return DescribeLogDirsResponse(results=(good, bad))

    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[DescribeLogDirsRequest] = described
        good, bad = await describe_log_dirs(client)
        assert (good.node_id, good.path, good.total, good.usable, good.error) == (1, "/a", 1000, 300, None)
        assert [(each.partition, each.size, each.is_future) for each in good.replicas] == [
            (ORDERS, 100, False),
            (ORDERS, 40, True),
        ]
        assert (bad.path, bad.total, bad.usable) == ("/b", None, None)
        assert bad.error is not None
        assert bad.error.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert cluster.asked(DescribeLogDirsRequest)[-1].topics is None
        (replica,) = await list_replicas(client, {"orders": [0]}, [1])
        assert replica[:4] == (1, ORDERS, "/a", 100)

    run(test)
