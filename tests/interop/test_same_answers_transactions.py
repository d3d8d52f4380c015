"""Transactions: who may write in one, how it ends, and what is recorded of it, with the answers of Apache Kafka."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from odradek.coordinators.partitioning import partition_of
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.wire.records.transaction import TransactionLogKey
from odradek.wire.schema import NO_UUID
from odradek.wire.stored import TRANSACTION_STATE
from support.same_answers import SETTINGS, Asker, Case, Level, Side, differences
from support.transactional_writer import (
    BY_ID_SINCE,
    MANY_SINCE,
    Writer,
    commit_offset,
    group_of,
    producers_of,
    writer_of,
)


async def records_of(ask: Asker, transactional_id: str) -> AsyncIterator[object]:
    partition = partition_of(transactional_id, int(SETTINGS["transaction.state.log.num.partitions"]))
    for record in await ask.stored("__transaction_state", partition):
        assert record.key is not None
        key = TRANSACTION_STATE.read_key(record.key)
        if key == TransactionLogKey(transactional_id=transactional_id):
            yield None if record.value is None else TRANSACTION_STATE.read_value(key, record.value)


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
    await ask(DeleteTopicsRequest(topics=(DeleteTopicState(name=gone, topic_id=NO_UUID),), timeout_ms=30_000), 6)
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
