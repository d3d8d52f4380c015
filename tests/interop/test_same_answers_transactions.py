"""Transactions: who may write in one, how it ends, and what is recorded of it, with the answers of Apache Kafka."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from odradek.coordinators.partitioning import partition_of
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.testing.same_answers import SETTINGS, Asker, Case, Level, Side, differences
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.wire.records.transaction import TransactionLogKey
from odradek.wire.schema import NO_UUID
from odradek.wire.stored import TRANSACTION_STATE

TIMEOUT_MS = 60_000
MANY_SINCE = 4
"""In AddPartitionsToTxn."""
BY_ID_SINCE = 13
_BUSY = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)


@dataclass
class Writer:
    """A producer with a transactional id, as it was last told who it is."""

    ask: Asker
    transactional_id: str
    producer_id: int = -1
    epoch: int = -1
    sequences: int = 0

    async def init(self, **fields: Any) -> None:
        """Until it is not told to try again, which is not compared: how often that is depends on time."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, **{"transaction_timeout_ms": TIMEOUT_MS, **fields}
        )
        answer = await self.ask.quietly(request)
        while answer.error_code in _BUSY:
            answer = await self.ask.quietly(request)
        self.ask.keep(answer)
        if not answer.error_code:
            self.producer_id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, 0

    def who(self, **other: Any) -> dict[str, Any]:
        known = {"transactional_id": self.transactional_id, "producer_id": self.producer_id}
        return {**known, "producer_epoch": self.epoch, **other}

    async def add(self, *topics: str, partition: int = 0, version: int | None = None, **other: Any) -> None:
        version = self.ask.level.version_of(AddPartitionsToTxnRequest) if version is None else version
        named = tuple(AddPartitionsToTxnTopic(name=topic, partitions=(partition,)) for topic in topics)
        if version >= MANY_SINCE:
            fields = self.who(**other)
            request = AddPartitionsToTxnRequest(transactions=(AddPartitionsToTxnTransaction(topics=named, **fields),))
        else:
            other.pop("verify_only", None)
            fields = {f"v3_and_below_{name}": value for name, value in self.who(**other).items()}
            request = AddPartitionsToTxnRequest(v3_and_below_topics=named, **fields)
        await self.ask(request, version)

    async def send(self, topic: str, version: int | None = None, **other: Any) -> None:
        await self.ask(await self.batch(topic, version, **other), version)

    async def batch(self, topic: str, version: int | None = None, **other: Any) -> ProduceRequest:
        version = self.ask.level.version_of(ProduceRequest) if version is None else version
        now = TimestampMs(int(time.time() * 1000))  # noqa: TID251 - brokers refuse what is far from their own time
        fields = self.who(**other)
        spec = BatchSpec(
            producer_id=ProducerId(fields["producer_id"]),
            producer_epoch=fields["producer_epoch"],
            base_sequence=other.get("sequence", self.sequences),
            transactional=other.get("transactional", True),
        )
        self.sequences += 1
        records = bytearray(build_batch([Record(Offset(0), now, b"k", b"v")], spec))
        part = (PartitionProduceData(index=0, records=records),)
        by_id = version >= BY_ID_SINCE
        data = (
            TopicProduceData(topic_id=await self.ask.topic_id(topic), partition_data=part)
            if by_id
            else TopicProduceData(name=topic, partition_data=part)
        )
        return ProduceRequest(
            transactional_id=fields["transactional_id"], acks=-1, timeout_ms=5_000, topic_data=(data,)
        )

    async def end(self, *, commit: bool, version: int | None = None, **other: Any) -> None:
        answer = await self.ask(EndTxnRequest(committed=commit, **self.who(**other)), version)
        await self.settled()
        if answer is not None and not answer.error_code and answer.producer_epoch >= 0:
            if (self.producer_id, self.epoch) != (answer.producer_id, answer.producer_epoch):
                self.sequences = 0
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    async def state(self) -> TransactionState:
        answer = await self.ask.quietly(DescribeTransactionsRequest(transactional_ids=(self.transactional_id,)))
        found: TransactionState = answer.transaction_states[0]
        return found

    async def settled(self) -> None:
        """Kafka answers before all is written."""
        while (await self.state()).transaction_state.startswith("Prepare"):
            continue

    async def tell(self) -> None:
        self.ask.keep(await self.state())


async def writer_of(ask: Asker, name: str) -> Writer:
    """With a coordinator, in a cluster that may not have made its topic yet. It has no producer id."""
    writer = Writer(ask, ask.name(name))
    code = -1
    while code:
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=(writer.transactional_id,))
        code = (await ask.quietly(request, 6)).coordinators[0].error_code
    while (await writer.state()).error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        continue
    code = -1
    while code:  # so that no producer has id 0, and Kafka's broker has a block of ids
        plain = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        code = (await ask.quietly(plain)).error_code
    return writer


async def group_of(ask: Asker, name: str) -> str:
    group_id, code = ask.name(name), -1
    while code:
        found = await ask.quietly(FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id,)), 6)
        code = found.coordinators[0].error_code
    code = -1
    while code:
        asked = OffsetFetchRequestGroup(group_id=group_id, topics=None)
        code = (await ask.quietly(OffsetFetchRequest(groups=(asked,)), 9)).groups[0].error_code
    return group_id


async def records_of(ask: Asker, transactional_id: str) -> AsyncIterator[object]:
    partition = partition_of(transactional_id, int(SETTINGS["transaction.state.log.num.partitions"]))
    for record in await ask.stored("__transaction_state", partition):
        assert record.key is not None
        key = TRANSACTION_STATE.read_key(record.key)
        if key == TransactionLogKey(transactional_id=transactional_id):
            yield None if record.value is None else TRANSACTION_STATE.read_value(key, record.value)


async def producers_of(ask: Asker, topic: str) -> None:
    await ask(DescribeProducersRequest(topics=(TopicRequest(name=topic, partition_indexes=(0,)),)))


# --- cases


async def coordinators(ask: Asker) -> None:
    await writer_of(ask, "found")
    version = ask.level.version_of(FindCoordinatorRequest)
    if version == 0:
        return  # which knows of groups alone
    name = ask.name("found")
    keys: dict[str, Any] = {"coordinator_keys": (name, "")} if version >= MANY_SINCE else {"key": name}
    await ask(FindCoordinatorRequest(key_type=1, **keys))


async def one_after_the_other(ask: Asker) -> None:
    topic = await ask.create("in-turn")
    writer = await writer_of(ask, "in-turn")
    await writer.init()
    await writer.tell()
    for commit in (True, False, True):
        await writer.add(topic)
        await writer.tell()
        await writer.send(topic)
        await producers_of(ask, topic)
        await writer.end(commit=commit)
        await writer.tell()
        await producers_of(ask, topic)
    ask.keep([each async for each in records_of(ask, writer.transactional_id)])


async def joining_on_produce(ask: Asker) -> None:
    """From version 12 on. Before, what nobody said would be written is refused."""
    topic = await ask.create("joining")
    writer = await writer_of(ask, "joining")
    await writer.init()
    for version in (10, 11, 12):
        await writer.send(topic, version, sequence=0)
        await writer.tell()
    await writer.end(commit=True, version=5)
    await writer.tell()
    await writer.send(topic, 12, sequence=1)
    await writer.send(topic, 12, sequence=0)
    await writer.end(commit=False, version=5)
    await writer.tell()
    await producers_of(ask, topic)
    ask.keep([each async for each in records_of(ask, writer.transactional_id)])


async def strangers(ask: Asker) -> None:
    """Who may not write."""
    topic = await ask.create("strangers")
    writer = await writer_of(ask, "strangers")
    nobody = ask.name("nobody")
    others: list[dict[str, Any]] = [{"transactional_id": nobody}, {"transactional_id": ""}]
    for other in others:
        await writer.add(topic, **other)
        await writer.end(commit=True, **other)
        await ask(AddOffsetsToTxnRequest(group_id="g", **writer.who(**other)))
    await writer.init()
    others = [{"producer_id": writer.producer_id + 1000}, {"producer_epoch": 9}, {"producer_epoch": -1}]
    for other in others:
        await writer.add(topic, **other)
        await writer.end(commit=True, **other)
        await ask(AddOffsetsToTxnRequest(group_id="g", **writer.who(**other)))
    await writer.add(ask.name("no-such-topic"))
    await writer.add(topic, ask.name("no-such-topic"))
    await writer.add(topic, partition=7)
    await group_of(ask, "strangers")
    await writer.add(topic, "__consumer_offsets", ask.name("no-such-topic"))
    await writer.end(commit=True)
    await writer.end(commit=False)
    await writer.tell()


async def strangers_that_produce(ask: Asker) -> None:
    topic = await ask.create("produced-by-strangers")
    writer = await writer_of(ask, "produced-by-strangers")
    await writer.init()
    nobody = ask.name("nobody")
    for version in (3, 10, 11, 12):
        for other in (
            {"transactional_id": nobody},
            {"transactional_id": ""},
            {"producer_id": writer.producer_id + 1000},
            {"producer_epoch": 9},
            {"transactional_id": None},
        ):
            await writer.send(topic, version, sequence=0, **other)
    await writer.add(topic)
    await writer.send(topic, sequence=5)
    await writer.send(topic, sequence=0)
    await writer.send(topic, sequence=0)
    await writer.send(topic, sequence=2)
    await writer.send(topic, sequence=1, transactional=False)
    await writer.end(commit=False)


async def ending_twice(ask: Asker) -> None:
    topic = await ask.create("twice")
    for commit in (True, False):
        writer = await writer_of(ask, f"twice-{commit}")
        await writer.init()
        await writer.add(topic)
        before = {"producer_id": writer.producer_id, "producer_epoch": writer.epoch}
        await writer.end(commit=commit)
        for again in (commit, not commit):
            await writer.end(commit=again, **before)
        await writer.tell()
        await writer.end(commit=True)
        await writer.tell()
        await writer.end(commit=False)
        await writer.tell()
        await writer.end(commit=False)
        await writer.tell()


async def fencing(ask: Asker) -> None:
    """Another one takes the transactional id while a transaction is open."""
    topic = await ask.create("fencing")
    first = await writer_of(ask, "fencing")
    await first.init()
    await first.add(topic)
    await first.send(topic)
    second = Writer(ask, first.transactional_id)
    busy = await ask.quietly(InitProducerIdRequest(transactional_id=first.transactional_id, transaction_timeout_ms=5))
    ask.keep(busy)
    await second.settled()
    await second.init()
    await second.tell()
    await first.add(topic)
    await first.send(topic)
    await first.end(commit=True)
    await second.add(topic)
    await second.send(topic)
    await second.end(commit=True)
    await producers_of(ask, topic)
    ask.keep([each async for each in records_of(ask, first.transactional_id)])


async def expecting(ask: Asker) -> None:
    """A producer says who it was."""
    version = ask.level.version_of(InitProducerIdRequest)
    if version < 3:
        return
    writer = await writer_of(ask, "expecting")
    await writer.init(producer_id=77, producer_epoch=3)
    known = {"producer_id": writer.producer_id}
    await writer.init(**known, producer_epoch=writer.epoch)
    await writer.init(**known, producer_epoch=writer.epoch - 1)
    await writer.init(**known, producer_epoch=writer.epoch - 2)
    await writer.init(**known, producer_epoch=writer.epoch + 1)
    await writer.init(producer_id=writer.producer_id + 1000, producer_epoch=writer.epoch)
    await writer.init(**known, producer_epoch=-1)
    await writer.init(producer_id=-1, producer_epoch=3)
    await writer.init()
    await writer.init(**known, producer_epoch=writer.epoch - 1)
    topic = await ask.create("expecting")
    await writer.add(topic)
    await writer.end(commit=True)
    await writer.init(**known, producer_epoch=writer.epoch - 1)
    await writer.tell()


async def timeouts(ask: Asker) -> None:
    writer = await writer_of(ask, "timeouts")
    for timeout_ms in (0, -1, 900_001, 900_000, 1):
        await writer.init(transaction_timeout_ms=timeout_ms)
    await Writer(ask, "").init()


async def verifying(ask: Asker) -> None:
    """What leaders of partitions ask, from version 4 on."""
    topic, other = await ask.create("verifying"), await ask.create("verifying-other")
    writer = await writer_of(ask, "verifying")
    await writer.add(topic, version=4, verify_only=True)
    await writer.init()
    await writer.add(topic, version=4, verify_only=True)
    await writer.add(topic, version=5)
    await writer.add(topic, other, version=4, verify_only=True)
    await writer.add(topic, version=5, verify_only=True, producer_epoch=7)
    await writer.add(topic, version=5, verify_only=True, producer_id=12345)
    await writer.add(topic, version=5, verify_only=True, transactional_id="")
    await writer.tell()
    await writer.end(commit=True, version=5)
    await writer.add(topic, version=4, verify_only=True)


async def offsets(ask: Asker) -> None:
    """Committed in a transaction: pending, and then there or not."""
    topic = await ask.create("offsets-of-txn")
    group_id = await group_of(ask, "offsets-of-txn")
    writer = await writer_of(ask, "offsets-of-txn")
    await writer.init()
    is_implicit = ask.level.version_of(TxnOffsetCommitRequest) >= 5
    for number, commit in enumerate((True, False)):
        await commit_offset(writer, group_id, topic, 10 + number)
        if not is_implicit:
            await ask(AddOffsetsToTxnRequest(group_id=group_id, **writer.who()))
            await commit_offset(writer, group_id, topic, 10 + number)
        await commit_offset(writer, group_id, topic, 20 + number, metadata="x" * 4097)
        await commit_offset(writer, group_id, ask.name("no-such-topic"), 1)
        await commit_offset(writer, group_id, topic, 1, generation_id=4, member_id="m")
        await commit_offset(writer, "", topic, 1)
        await fetch_offset(ask, group_id, topic)
        await writer.end(commit=commit)
        await fetch_offset(ask, group_id, topic)


async def commit_offset(
    writer: Writer, group_id: str, topic: str, offset: int, metadata: str = "", **other: Any
) -> None:
    part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
    other_part = TxnOffsetCommitRequestPartition(partition_index=9, committed_offset=offset, committed_metadata=None)
    asked = TxnOffsetCommitRequestTopic(name=topic, partitions=(part, other_part))
    if writer.ask.level.version_of(TxnOffsetCommitRequest) < 3:
        other = {}
    await writer.ask(TxnOffsetCommitRequest(group_id=group_id, topics=(asked,), **writer.who(**other)))


async def fetch_offset(ask: Asker, group_id: str, topic: str) -> None:
    for stable in (False, True):
        asked = OffsetFetchRequestTopics(name=topic, partition_indexes=(0,))
        group = OffsetFetchRequestGroup(group_id=group_id, topics=(asked,))
        await ask(OffsetFetchRequest(groups=(group,), require_stable=stable), 9)


async def markers(ask: Asker) -> None:
    """As a tool ends a transaction that hangs."""
    topic = await ask.create("marked")
    writer = await writer_of(ask, "marked")
    await writer.init()
    await writer.add(topic)
    await writer.send(topic)

    async def mark(producer_epoch: int, coordinator_epoch: int = 0, name: str = topic, partition: int = 0) -> None:
        marker = WritableTxnMarker(
            producer_id=writer.producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            topics=(WritableTxnMarkerTopic(name=name, partition_indexes=(partition,)),),
            coordinator_epoch=coordinator_epoch,
            **{"transaction_version": 2} if ask.level is Level.HIGHEST else {},
        )
        await ask(WriteTxnMarkersRequest(markers=(marker,)))

    await mark(writer.epoch, name=ask.name("no-such-topic"))
    await mark(writer.epoch, partition=5)
    await mark(writer.epoch)
    await producers_of(ask, topic)
    await mark(writer.epoch + 1, coordinator_epoch=3)
    await producers_of(ask, topic)
    await mark(writer.epoch + 1, coordinator_epoch=2)
    await mark(writer.epoch, coordinator_epoch=4)
    await mark(writer.epoch + 1, coordinator_epoch=3)
    await ask(WriteTxnMarkersRequest(markers=()))


async def deleted_topics(ask: Asker) -> None:
    """A transaction ends also where one of its topics does not exist any more."""
    gone, kept = await ask.create("deleted-in-txn"), await ask.create("kept-in-txn")
    writer = await writer_of(ask, "deleted-in-txn")
    await writer.init()
    await writer.add(gone)
    await writer.add(kept)
    await writer.send(kept)
    await ask(DeleteTopicsRequest(topics=(DeleteTopicState(name=gone, topic_id=NO_UUID),), timeout_ms=5_000), 6)
    await ask.settle()
    await writer.end(commit=True)
    await writer.tell()
    await producers_of(ask, kept)


async def reading(ask: Asker) -> None:
    """What readers of committed records get, with the aborted transactions among it."""
    topic = await ask.create("read-in-txns")
    writers = [await writer_of(ask, f"reading-{number}") for number in range(3)]
    for writer in writers:
        await writer.init()
        await writer.add(topic)
    for writer in (*writers, *writers):
        await writer.send(topic)
    await fetched(ask, topic, 0, 3)
    for number, commit in ((0, False), (2, False), (1, True)):
        await writers[number].end(commit=commit)
        await fetched(ask, topic, 0, 3)


async def reading_in_parts(ask: Asker) -> None:
    """Aborted transactions are told as far as the index of the log shows that they matter."""
    topic = await ask.create("read-in-parts", index_interval_bytes="150")
    writer = await writer_of(ask, "reading-in-parts")
    await writer.init()
    for number in range(12):
        await writer.add(topic)
        await writer.send(topic)
        await writer.end(commit=number % 3 == 0)
    for size in (1, 100, 200, 400, 1000):
        await fetched(ask, topic, 0, 5, 11, 20, size=size)


async def fetched(ask: Asker, topic: str, *offsets: int, size: int = 1 << 20) -> None:
    by_id = ask.level.version_of(FetchRequest) >= BY_ID_SINCE
    name: dict[str, Any] = {"topic_id": await ask.topic_id(topic)} if by_id else {"topic": topic}
    for level in (0, 1):
        for offset in offsets:
            part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
            answer = await ask.quietly(
                FetchRequest(
                    max_wait_ms=0,
                    min_bytes=0,
                    isolation_level=level,
                    topics=(FetchTopic(partitions=(part,), **name),),
                )
            )
            data = answer.responses[0].partitions[0]
            ask.keep((data.error_code, data.high_watermark, data.last_stable_offset, len(data.records)))
            ask.keep(data.aborted_transactions)


async def listing(ask: Asker) -> None:
    topic = await ask.create("listing")
    names = ("empty", "open", "done")
    writers = {name: await writer_of(ask, f"listed-{name}") for name in names}
    for name, writer in writers.items():
        await writer.init()
        if name != "empty":
            await writer.add(topic)
    await writers["done"].end(commit=True)
    version = ask.level.version_of(ListTransactionsRequest)

    async def listed(**fields: Any) -> None:
        known: dict[str, Any] = {"state_filters": (), "producer_id_filters": ()}
        answer = await ask.quietly(ListTransactionsRequest(**{**known, **fields}))
        mine = [each for each in answer.transaction_states if each.transactional_id.startswith(ask.name("listed")[:6])]
        of_level = [each for each in mine if each.transactional_id.endswith(ask.level.value)]
        ask.keep((answer.error_code, answer.unknown_state_filters))
        ask.keep(sorted(of_level, key=lambda each: str(each.transactional_id)))

    await listed()
    for states in (("Ongoing",), ("Empty", "CompleteCommit"), ("nonsense",), ("ongoing",), ("Dead", "Ongoing")):
        await listed(state_filters=states)
    await listed(producer_id_filters=(writers["open"].producer_id,))
    await listed(producer_id_filters=(12_345_678,))
    if version >= 1:
        for duration in (0, 1_000_000_000, -5):
            await listed(duration_filter=duration)
    if version >= 2:
        for pattern in ("listed-o.*", "open", "", ".*done.*", "(", "listed-[a-e].*"):
            await listed(transactional_id_pattern=pattern)
    await ask(DescribeTransactionsRequest(transactional_ids=("", ask.name("nobody"), ask.name("listed-open"))))


CASES: list[Case] = [
    coordinators,
    one_after_the_other,
    joining_on_produce,
    strangers,
    strangers_that_produce,
    ending_twice,
    fencing,
    expecting,
    timeouts,
    verifying,
    offsets,
    markers,
    deleted_topics,
    reading,
    reading_in_parts,
    listing,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
