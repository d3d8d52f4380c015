"""What is asked of brokers, and what is made of their answers: they are fakes that say what a test tells them to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.setting import ClientSetting
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.spark.reading import read_range
from odradek.spark.reading.errors import CorruptRecords, TopicReplaced, Unread
from odradek.spark.reading.fetching import Fetching
from odradek.spark.reading.range import Range, ReadSetting
from odradek.wire.apis import APIS
from odradek.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from support.fake_broker import Asked, FakeBroker, Hurried
from support.waiting import until

ID, OTHER_ID = bytes(range(16)), bytes(range(16, 32))
FETCH = 1


def batch(offset: int, count: int) -> bytes:
    records = [Record(Offset(offset + number), TimestampMs(0), None, b"v" * 100) for number in range(count)]
    return bytes(build_batch(records, BatchSpec(base_offset=Offset(offset))))


class Cluster:
    """Two brokers, of which one leads the only partition of `orders`, whose log is batches of ten records."""

    def __init__(self) -> None:
        self.brokers = {number: FakeBroker(self._answer(number)) for number in (1, 2)}
        self.leader = 1
        self.topic_id = ID
        self.end = 1000
        self.stable_end = 1000
        self.fetch: Callable[[int, Asked, FetchRequest], None] = self.serve

    @asynccontextmanager
    async def serving(self, setting: ClientSetting | None = None) -> AsyncIterator[Client]:
        async with AsyncExitStack() as stack, asyncio.timeout(60):
            for broker in self.brokers.values():
                await stack.enter_async_context(broker.serving())
            yield await stack.enter_async_context(Client([self.brokers[1].address], setting))

    @property
    def fetches(self) -> list[Any]:
        """The partitions of the fetch requests so far, of both brokers."""
        requests = [each.request for broker in self.brokers.values() for each in broker.asked]
        return [each.topics[0].partitions[0] for each in requests if isinstance(each, FetchRequest)]

    def _answer(self, number: int) -> Callable[[Asked], None]:
        def answer(asked: Asked) -> None:
            if isinstance(asked.request, FetchRequest):
                self.fetch(number, asked, asked.request)
            else:
                asked.reply(self._metadata())

        return answer

    def _metadata(self) -> MetadataResponse:
        partition = MetadataResponsePartition(
            partition_index=0,
            leader_id=self.leader,
            leader_epoch=self.leader,
            replica_nodes=(1, 2),
            isr_nodes=(1, 2),
            offline_replicas=(),
        )
        topic = MetadataResponseTopic(name="orders", topic_id=self.topic_id, partitions=(partition,))
        brokers = tuple(
            MetadataResponseBroker(node_id=number, host=each.address.host, port=each.address.port)
            for number, each in self.brokers.items()
        )
        return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=(topic,))

    def serve(self, number: int, asked: Asked, request: FetchRequest) -> None:
        if number != self.leader:
            self.reply(asked, b"", ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        at = request.topics[0].partitions[0].fetch_offset
        most = self.stable_end if request.isolation_level else self.end
        first = at - at % 10
        count = max(1, request.topics[0].partitions[0].partition_max_bytes // len(batch(0, 10)))
        batches = (batch(offset, 10) for offset in range(first, min(most, first + count * 10), 10))
        self.reply(asked, b"".join(batches))

    def reply(self, asked: Asked, records: bytes, code: int = 0) -> None:
        data = PartitionData(
            partition_index=0,
            error_code=code,
            high_watermark=self.end,
            last_stable_offset=self.stable_end,
            aborted_transactions=(),
            records=records,
        )
        topic = FetchableTopicResponse(topic="orders", topic_id=self.topic_id, partitions=(data,))
        asked.reply(FetchResponse(responses=(topic,)))


def setting(bootstrap: str = "unused:1", **given: Any) -> ReadSetting:
    return ReadSetting(bootstrap=bootstrap, columns=("offset",), fetch_wait_ms=10, **given)


async def read(client: Client, wanted: Range, how: ReadSetting) -> list[int]:
    """Base offsets of the batches that came."""
    fetching = Fetching(client, wanted, how)
    found: list[int] = []
    while (fetched := await fetching.fetch()) is not None:
        found += [each.head.base_offset for each in fetched.batches]
    return found


def test_brokers_are_asked_by_the_id_of_the_topic_and_old_ones_by_its_name() -> None:
    async def main() -> None:
        for version in (APIS[FETCH].versions[1], 12):
            cluster = Cluster()
            for broker in cluster.brokers.values():
                broker.versions[FETCH] = (4, version)
            async with cluster.serving() as client:
                assert await read(client, Range("orders", bytes(16), 0, 0, 20), setting(fetch_bytes_max=1)) == [0, 10]
                (asked, _) = [each for each in cluster.brokers[1].asked if isinstance(each.request, FetchRequest)]
                assert asked.version == version
                (topic,) = asked.request.topics  # type: ignore[attr-defined]
                assert (topic.topic, topic.topic_id) == (("", ID) if version > 12 else ("orders", bytes(16)))

    asyncio.run(main())


def test_a_leader_that_moves_is_followed() -> None:
    async def main() -> None:
        cluster = Cluster()

        def move_then_serve(number: int, asked: Asked, request: FetchRequest) -> None:
            if request.topics[0].partitions[0].fetch_offset == 20:
                cluster.leader = 2
            cluster.serve(number, asked, request)

        cluster.fetch = move_then_serve
        async with cluster.serving() as client:
            offsets = await read(client, Range("orders", ID, 0, 0, 50), setting(fetch_bytes_max=1))
            assert offsets == [0, 10, 20, 30, 40]
            last = [each.request for each in cluster.brokers[2].asked if isinstance(each.request, FetchRequest)][-1]
            assert last.topics[0].partitions[0].current_leader_epoch == 2

    asyncio.run(main())


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.KAFKA_STORAGE_ERROR]
)
def test_what_passes_is_tried_again(code: ErrorCode) -> None:
    async def main() -> None:
        cluster = Cluster()
        refusals = [code, code]

        def refuse_then_serve(number: int, asked: Asked, request: FetchRequest) -> None:
            if refusals:
                cluster.reply(asked, b"", refusals.pop())
            else:
                cluster.serve(number, asked, request)

        cluster.fetch = refuse_then_serve
        async with cluster.serving() as client:
            assert await read(client, Range("orders", ID, 0, 5, 20), setting(fetch_bytes_max=1)) == [0, 10]

    asyncio.run(main())


def test_a_leader_that_has_left_the_cluster_is_looked_for_again() -> None:
    async def main() -> None:
        cluster = Cluster()
        async with cluster.serving() as client:
            await client.look_up(())
            leaders = {(ID, 0): PartitionView(0, 3, 7, (1, 2, 3), (1, 2), (3,))}
            fetching = Fetching(client, Range("orders", ID, 0, 0, 10), setting(fetch_bytes_max=1), leaders)
            fetched = await fetching.fetch()
            assert fetched is not None
            assert [each.head.base_offset for each in fetched.batches] == [0]
            assert leaders[ID, 0].leader == 1

    asyncio.run(main())


def test_a_broker_that_takes_too_long_is_asked_again_and_what_it_says_late_is_not_heard() -> None:
    async def main() -> None:
        cluster = Cluster()
        late: list[Asked] = []

        def be_late_once(number: int, asked: Asked, request: FetchRequest) -> None:
            if not late:
                late.append(asked)
                return
            cluster.reply(late[0], batch(500, 10))
            cluster.serve(number, asked, request)

        cluster.fetch = be_late_once
        async with cluster.serving(ClientSetting(request_timeout_s=0.1, rng=Hurried())) as client:
            assert await read(client, Range("orders", ID, 0, 5, 20), setting(fetch_bytes_max=1)) == [0, 10]
            assert [each.fetch_offset for each in cluster.fetches][:2] == [5, 5]

    asyncio.run(main())


def test_a_quota_that_is_used_up_is_waited_for() -> None:
    """A broker answers without any topic then, and says how long it wants to be left alone."""

    async def main() -> None:
        cluster = Cluster()
        throttled = [50, 0]

        def throttle_then_serve(number: int, asked: Asked, request: FetchRequest) -> None:
            if throttled:
                asked.reply(FetchResponse(throttle_time_ms=throttled.pop(), responses=()))
            else:
                cluster.serve(number, asked, request)

        cluster.fetch = throttle_then_serve
        async with cluster.serving() as client:
            assert await read(client, Range("orders", ID, 0, 5, 20), setting(fetch_bytes_max=1)) == [0, 10]
            assert throttled == []

    asyncio.run(main())


def test_a_quota_that_never_lets_anything_through_is_told() -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.fetch = lambda _, asked, __: asked.reply(FetchResponse(throttle_time_ms=1, responses=()))
        async with cluster.serving() as client:
            with pytest.raises(Unread, match=r"from offset 5 on, .*a quota holds the answers back"):
                await read(client, Range("orders", ID, 0, 5, 20), setting(timeout_s=0.05))

    asyncio.run(main())


def test_a_topic_that_is_made_again_while_it_is_read_is_passed_over_if_asked(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        cluster = Cluster()

        def replace_then_refuse(number: int, asked: Asked, request: FetchRequest) -> None:
            if request.topics[0].partitions[0].fetch_offset == 10:
                cluster.topic_id = OTHER_ID
                cluster.reply(asked, b"", ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                cluster.serve(number, asked, request)

        cluster.fetch = replace_then_refuse
        async with cluster.serving() as client:
            how = setting(fetch_bytes_max=1, fail_on_data_loss=False)
            assert await read(client, Range("orders", ID, 0, 0, 30), how) == [0]
        assert "deleted and created again" in caplog.text
        assert "from offset 10 to 29" in caplog.text

    asyncio.run(main())


def test_what_does_not_pass_is_told_with_the_place() -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.fetch = lambda _, asked, __: cluster.reply(asked, b"", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        async with cluster.serving() as client:
            with pytest.raises(Unread, match=r"from offset 5 on, up to \d+: .*TOPIC_AUTHORIZATION_FAILED"):
                await read(client, Range("orders", ID, 0, 5, 20), setting())

    asyncio.run(main())


def test_a_topic_of_another_id_is_not_read() -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.topic_id = OTHER_ID
        async with cluster.serving() as client:
            with pytest.raises(TopicReplaced, match="its id was AAECAwQFBgcICQoLDA0ODw and is EBESExQVFhcYGRobHB0eHw"):
                await read(client, Range("orders", ID, 0, 0, 20), setting())
            assert cluster.fetches == []

    asyncio.run(main())


def test_a_transaction_that_stays_open_is_told() -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.stable_end = 10
        async with cluster.serving() as client:
            with pytest.raises(Unread, match=r"from offset 10 on, up to 30.*a transaction is open at 10"):
                await read(client, Range("orders", ID, 0, 0, 30), setting(read_committed=True, timeout_s=0.05))

    asyncio.run(main())


def test_a_log_that_ends_before_its_range_is_told_and_passed_over_if_asked(caplog: pytest.LogCaptureFixture) -> None:
    """It went further when the batch was planned, and its broker has lost the rest."""

    async def main() -> None:
        cluster = Cluster()
        cluster.end = 10
        async with cluster.serving() as client:
            with pytest.raises(Unread, match=r"from offset 10 on, up to 30.*it ends at 10"):
                await read(client, Range("orders", ID, 0, 0, 30), setting(timeout_s=0.05))
            how = setting(timeout_s=0.05, fail_on_data_loss=False)
            assert await read(client, Range("orders", ID, 0, 0, 30), how) == [0]
        assert "skipped what was left of a batch, from offset 10 to 29" in caplog.text

    asyncio.run(main())


def test_the_end_of_a_range_is_not_fetched_far_beyond() -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.end = 1_000_000
        async with cluster.serving() as client:
            how = setting(fetch_bytes_max=4 << 20)
            await read(client, Range("orders", ID, 0, 0, 10_500), how)
            first, second = (each.partition_max_bytes for each in cluster.fetches)
            assert first == 1 << 20
            left = 10_500 - cluster.fetches[1].fetch_offset
            assert left * 100 < second < left * 130 + (128 << 10)

    asyncio.run(main())


def test_an_answer_that_does_not_move_on_is_corrupt() -> None:
    async def main() -> None:
        cluster = Cluster()
        for records in (batch(0, 10), b"x" * 30):
            cluster.fetch = lambda _, asked, __, records=records: cluster.reply(asked, records)  # type: ignore[misc]
            async with cluster.serving() as client:
                with pytest.raises(CorruptRecords, match="orders-0 has a corrupt batch at offset 10"):
                    await read(client, Range("orders", ID, 0, 10, 20), setting())

    asyncio.run(main())


def test_one_answer_is_fetched_ahead_and_no_more() -> None:
    async def main() -> None:
        cluster = Cluster()
        async with cluster.serving():
            how = setting(bootstrap=str(cluster.brokers[1].address), fetch_bytes_max=1)
            rows = read_range(Range("orders", ID, 0, 0, 50), how)
            for taken in range(1, 6):
                assert (await asyncio.to_thread(next, rows)).column(0).to_pylist()[0] == taken * 10 - 10
                asked = min(taken + 1, 5)
                await until(lambda asked=asked: len(cluster.fetches) >= asked)  # type: ignore[misc]
                assert len(cluster.fetches) == asked

    asyncio.run(main())
