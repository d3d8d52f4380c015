"""A producer with a transactional id that speaks the protocol by hand, for cases that are played on two brokers."""

import time
from dataclasses import dataclass
from typing import Any

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.same_answers import SETTINGS, Asker

TIMEOUT_MS = 900_000
"""As long as brokers allow: no transaction runs out while a case is played, nor while others are."""
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
            transactional_id=fields["transactional_id"], acks=-1, timeout_ms=30_000, topic_data=(data,)
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


def one_in_each_partition(setting: str) -> list[str]:
    """A key for each partition of a topic of coordinators, which has as many of them as the setting says.

    A letter is its own hash, and letters in a row have hashes in a row.
    """
    return [chr(ord("a") + number) for number in range(int(SETTINGS[setting]))]


async def writer_of(ask: Asker, name: str) -> Writer:
    """With coordinators for all, in a cluster that may not have made their topic yet. It has no producer id.

    Kafka loads partitions one by one, and cases ask for more transactional ids than this.
    """
    writer = Writer(ask, ask.name(name))
    code = -1
    while code:
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=(writer.transactional_id,))
        code = (await ask.quietly(request, 6)).coordinators[0].error_code
    for each in one_in_each_partition("transaction.state.log.num.partitions"):
        while (await Writer(ask, each).state()).error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            continue
    code = -1
    while code:  # so that no producer has id 0, and Kafka's broker has a block of ids
        plain = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        code = (await ask.quietly(plain)).error_code
    return writer


async def group_of(ask: Asker, name: str) -> str:
    """With coordinators for all groups, as in `writer_of`."""
    group_id, code = ask.name(name), -1
    while code:
        found = await ask.quietly(FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id,)), 6)
        code = found.coordinators[0].error_code
    for each in one_in_each_partition("offsets.topic.num.partitions"):
        asked, code = OffsetFetchRequestGroup(group_id=each, topics=None), -1
        while code:
            code = (await ask.quietly(OffsetFetchRequest(groups=(asked,)), 9)).groups[0].error_code
    return group_id


async def commit_offset(
    writer: Writer, group_id: str, topic: str, offset: int, metadata: str = "", **other: Any
) -> None:
    part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
    other_part = TxnOffsetCommitRequestPartition(partition_index=9, committed_offset=offset, committed_metadata=None)
    asked = TxnOffsetCommitRequestTopic(name=topic, partitions=(part, other_part))
    if writer.ask.level.version_of(TxnOffsetCommitRequest) < 3:
        other = {}
    await writer.ask(TxnOffsetCommitRequest(group_id=group_id, topics=(asked,), **writer.who(**other)))


async def producers_of(ask: Asker, topic: str) -> None:
    await ask(DescribeProducersRequest(topics=(TopicRequest(name=topic, partition_indexes=(0,)),)))
