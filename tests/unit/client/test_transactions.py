"""Transactions, producers and what hangs, on a broker that says what it is told to."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.client.client import Client
from odradek.client.errors import Refused
from odradek.client.hanging import Search, Why, find_hanging
from odradek.client.producers import AbortMarker, ProducerView, describe_producers, write_abort
from odradek.client.setting import ClientSetting
from odradek.client.transactions import (
    OPEN_STATES,
    Choice,
    TransactionView,
    describe_transactions,
    fence,
    list_transactions,
)
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages import describe_transactions as describing
from odradek.wire.messages import list_transactions as listing
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.wire.schema import Message
from support.fake_broker import Asked, FakeBroker

HOUR_MS = 3_600_000
NOW = TimestampMs(100 * HOUR_MS)
ORDERS = TopicPartition("orders", 0)
PRODUCER = ProducerId(7)


class Cluster:
    """One broker with one partition. A test says what its partition and its coordinator know."""

    def __init__(self) -> None:
        self.broker = FakeBroker(self._answer)
        self.refusals: list[ErrorCode] = []
        """For requests other than those that say whom to ask."""
        self.producers: tuple[ProducerState, ...] = ()
        self.transactions: dict[str, describing.TransactionState] = {}
        self.unknown_states: tuple[str, ...] = ()
        self._answers: dict[type[Message], Callable[[Any, ErrorCode], Message]] = {
            listing.ListTransactionsRequest: self._list,
            describing.DescribeTransactionsRequest: self._describe,
            DescribeProducersRequest: self._tell_producers,
            WriteTxnMarkersRequest: self._mark,
            InitProducerIdRequest: lambda _, code: InitProducerIdResponse(error_code=code),
        }

    def asked(self, kind: type[Message]) -> list[Any]:
        return [each.request for each in self.broker.asked if isinstance(each.request, kind)]

    def know(self, transactional_id: str, state: str = "Ongoing", **fields: Any) -> None:
        known: dict[str, Any] = {
            "transaction_timeout_ms": HOUR_MS,
            "transaction_start_time_ms": NOW,
            "producer_id": PRODUCER,
            "producer_epoch": 3,
            "topics": (describing.TopicData(topic="orders", partitions=(0,)),),
        }
        self.transactions[transactional_id] = describing.TransactionState(
            transactional_id=transactional_id, transaction_state=state, **{**known, **fields}
        )

    def _answer(self, asked: Asked) -> None:
        request, address = asked.request, self.broker.address
        if isinstance(request, MetadataRequest):
            part = MetadataResponsePartition(
                partition_index=0, leader_id=1, replica_nodes=(1,), isr_nodes=(1,), offline_replicas=()
            )
            topic = MetadataResponseTopic(name="orders", topic_id=bytes(16), partitions=(part,))
            brokers = (MetadataResponseBroker(node_id=1, host=address.host, port=address.port),)
            asked.reply(MetadataResponse(brokers=brokers, controller_id=1, topics=(topic,) if request.topics else ()))
        elif isinstance(request, FindCoordinatorRequest):
            assert request.key_type == 1
            keys = request.coordinator_keys
            found = tuple(Coordinator(key=each, node_id=1, host=address.host, port=address.port) for each in keys)
            asked.reply(FindCoordinatorResponse(coordinators=found))
        else:
            code = self.refusals.pop(0) if self.refusals else ErrorCode.NONE
            asked.reply(self._answers[type(request)](request, code))

    def _list(self, request: listing.ListTransactionsRequest, code: ErrorCode) -> Message:
        found = tuple(
            listing.TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.transaction_state,
            )
            for each in self.transactions.values()
            if not request.producer_id_filters or each.producer_id in request.producer_id_filters
        )
        return listing.ListTransactionsResponse(
            error_code=code, unknown_state_filters=self.unknown_states, transaction_states=found
        )

    def _describe(self, request: describing.DescribeTransactionsRequest, code: ErrorCode) -> Message:
        def told(name: str) -> describing.TransactionState:
            if not code and name in self.transactions:
                return self.transactions[name]
            return describing.TransactionState(
                error_code=code or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
                transactional_id=name,
                transaction_state="",
                transaction_timeout_ms=0,
                transaction_start_time_ms=0,
                producer_id=0,
                producer_epoch=0,
                topics=(),
            )

        return describing.DescribeTransactionsResponse(transaction_states=tuple(map(told, request.transactional_ids)))

    def _tell_producers(self, _request: DescribeProducersRequest, code: ErrorCode) -> Message:
        part = PartitionResponse(
            partition_index=0,
            error_code=code,
            error_message="so it is" if code else None,
            active_producers=self.producers,
        )
        return DescribeProducersResponse(topics=(TopicResponse(name="orders", partitions=(part,)),))

    def _mark(self, request: WriteTxnMarkersRequest, code: ErrorCode) -> Message:
        result = WritableTxnMarkerPartitionResult(partition_index=0, error_code=code)
        topic = WritableTxnMarkerTopicResult(name="orders", partitions=(result,))
        marker = WritableTxnMarkerResult(producer_id=request.markers[0].producer_id, topics=(topic,))
        return WriteTxnMarkersResponse(markers=(marker,))


def open_producer(producer_id: int = PRODUCER, age_ms: int = HOUR_MS, start: int = 5) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=3,
        last_sequence=0,
        last_timestamp=NOW - age_ms,
        coordinator_epoch=-1,
        current_txn_start_offset=start,
    )


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


def test_a_list_says_what_is_wanted_and_waits_for_those_who_load() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.know("b")
        cluster.know("a", "Empty")
        cluster.refusals = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        choice = Choice(states=["Ongoing"], producer_ids=[PRODUCER], open_for_ms=5, pattern=".*")
        found = await list_transactions(client, choice)
        assert [(each.transactional_id, each.coordinator_id, each.state) for each in found] == [
            ("a", 1, "Empty"),
            ("b", 1, "Ongoing"),
        ]
        *_, asked = cluster.asked(listing.ListTransactionsRequest)
        assert asked == listing.ListTransactionsRequest(
            state_filters=("Ongoing",),
            producer_id_filters=(PRODUCER,),
            duration_filter=5,
            transactional_id_pattern=".*",
        )

    run(test)


def test_a_state_that_a_broker_does_not_know_is_told() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.unknown_states = ("PrepareEpochFence",)
        with pytest.raises(Refused, match="no such state: PrepareEpochFence"):
            await list_transactions(client, Choice(states=OPEN_STATES))

    run(test)


def test_transactions_are_described_as_their_coordinator_knows_them() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.know("open")
        cluster.know("idle", "Empty", transaction_start_time_ms=-1, topics=())
        found = await describe_transactions(client, ["open", "idle", "nobody"])
        shown, idle, nobody = found.values()
        assert isinstance(shown, TransactionView)
        assert (shown.state, shown.started_ms, shown.partitions) == ("Ongoing", NOW, (ORDERS,))
        assert isinstance(idle, TransactionView)
        assert (idle.started_ms, idle.partitions) == (None, ())
        assert isinstance(nobody, Refused)
        assert nobody.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    run(test)


def test_producers_are_told_by_leaders_again_if_they_moved() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.producers = (open_producer(9, start=-1), open_producer())
        cluster.refusals = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        (found,) = (await describe_producers(client, [ORDERS])).values()
        last = TimestampMs(NOW - HOUR_MS)
        assert found == (
            ProducerView(PRODUCER, 3, -1, 0, last, Offset(5)),
            ProducerView(ProducerId(9), 3, -1, 0, last, None),
        )

    run(test)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        (None, Why.UNKNOWN_PRODUCER),
        ({"topics": ()}, Why.NOT_IN_TRANSACTION),
        ({"topics": (describing.TopicData(topic="other", partitions=(0,)),)}, Why.NOT_IN_TRANSACTION),
        ({"producer_id": 8}, Why.UNKNOWN_PRODUCER),
        ({"transaction_start_time_ms": NOW - HOUR_MS - 1}, Why.OVERDUE),
        ({"transaction_start_time_ms": NOW - HOUR_MS}, None),
        ({"transaction_start_time_ms": NOW - HOUR_MS - 1, "state": "PrepareCommit"}, None),
    ],
)
def test_what_hangs(known: dict[str, Any] | None, why: Why | None) -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.producers = (open_producer(), open_producer(9, start=-1))
        if known is not None:
            cluster.know("shop", **known)
        found, failures = await find_hanging(client, Search([ORDERS]), NOW)
        assert [(each.partition, each.producer.producer_id, each.why) for each in found] == (
            [] if why is None else [(ORDERS, PRODUCER, why)]
        )
        assert failures == {}

    run(test)


def test_what_wrote_lately_does_not_hang() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.producers = (open_producer(age_ms=900_000), open_producer(8, age_ms=900_001))
        found, _ = await find_hanging(client, Search([ORDERS]), NOW)
        assert [each.producer.producer_id for each in found] == [8]
        found, _ = await find_hanging(client, Search([ORDERS], quiet_ms=HOUR_MS), NOW)
        assert found == []
        assert len(cluster.asked(listing.ListTransactionsRequest)) == 1, "nobody is asked about nothing"

    run(test)


def test_a_partition_that_nobody_can_tell_of_is_no_partition_without_hanging_transactions() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.refusals = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        found, failures = await find_hanging(client, Search([ORDERS]), NOW)
        assert found == []
        assert [str(each) for each in failures.values()] == ["so it is (TOPIC_AUTHORIZATION_FAILED)"]

    run(test)


def test_a_coordinator_that_does_not_tell_must_not_be_taken_for_one_that_knows_nothing() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.producers = (open_producer(),)
        cluster.know("shop")
        cluster.refusals = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
        with pytest.raises(Refused, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            await find_hanging(client, Search([ORDERS]), NOW)

    run(test)


def test_a_marker_aborts_in_one_partition() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.refusals = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert await write_abort(client, ORDERS, AbortMarker(PRODUCER, 3, 2)) is None
        *_, asked = cluster.asked(WriteTxnMarkersRequest)
        (marker,) = asked.markers
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (PRODUCER, 3, 2)
        assert not marker.transaction_result
        cluster.refusals = [ErrorCode.INVALID_PRODUCER_EPOCH]
        refused = await write_abort(client, ORDERS, AbortMarker(PRODUCER, 2, 2))
        assert isinstance(refused, Refused)
        assert refused.code is ErrorCode.INVALID_PRODUCER_EPOCH

    run(test)


def test_to_fence_waits_until_what_was_open_is_aborted() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.know("shop")
        (view,) = (await describe_transactions(client, ["shop"])).values()
        assert isinstance(view, TransactionView)
        cluster.refusals = [ErrorCode.CONCURRENT_TRANSACTIONS]
        assert await fence(client, view) is None
        asked = cluster.asked(InitProducerIdRequest)
        assert [each.transactional_id for each in asked] == ["shop", "shop"]
        assert [each.transaction_timeout_ms for each in asked] == [HOUR_MS, HOUR_MS]

    run(test)
