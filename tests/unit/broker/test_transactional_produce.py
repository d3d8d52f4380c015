"""Which partitions of a produce request may be written to in a transaction, and whom that is asked."""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from odradek.broker.broker import Broker
from odradek.broker.coordination.transactions import Admission, ClientKnows, FencedEpoch
from odradek.broker.partitions.partition import Partition
from odradek.broker.producing.transactional_produce import (
    Gate,
    TransactionalIdRefused,
    TransactionalProduce,
    is_transactional,
)
from odradek.coordinators.errors import CoordinatorLoading
from odradek.coordinators.transactions.errors import ConcurrentTransactions, InvalidProducerIdMapping
from odradek.coordinators.transactions.transaction import Claim
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, InvalidProducerEpoch
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.flush import Flusher
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clock import ManualClock

if TYPE_CHECKING:
    from odradek.broker.coordination.transactions import Transactions

CLOCK = ManualClock()
ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)
OFFSETS = TopicPartition("__consumer_offsets", 0)


def batch(sequence: int = 0, epoch: int = 0, writer: int = 7, *, transactional: bool = True) -> bytearray:
    spec = BatchSpec(
        producer_id=ProducerId(writer), producer_epoch=epoch, base_sequence=sequence, transactional=transactional
    )
    return build_batch([Record(Offset(0), CLOCK.now_ms(), b"k", b"v")], spec)


def request(batches: dict[TopicPartition, bytearray], transactional_id: str | None = "shop") -> ProduceRequest:
    data = tuple(
        TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=number, records=records),))
        for (topic, number), records in batches.items()
    )
    return ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=1000, topic_data=data)


class Stage:
    """Stands for the coordinator: refuses what it is told to."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.asked: list[tuple[Claim, tuple[TopicPartition, ...], ClientKnows]] = []
        self.refuses: BrokerError | None = None
        self.is_verifying = True
        self._produce = TransactionalProduce(broker, cast("Transactions", self), CLOCK, lambda: self.is_verifying)

    def admit(self, who: Claim, partitions: Collection[TopicPartition], knows: ClientKnows) -> Admission:
        self.asked.append((who, tuple(partitions), knows))
        return Admission({} if self.refuses is None else dict.fromkeys(partitions, self.refuses))

    def gate(self, version: int, *batches: tuple[TopicPartition, bytearray]) -> Gate:
        return self._produce.gate_for(version, request(dict(batches)))

    def write(self, partition: TopicPartition, records: bytearray) -> None:
        self.broker.partitions[partition].produce(memoryview(records), is_joined=True)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    setting = Setting(CLOCK, lambda _: TopicConfig(), lambda: "0" * 32)
    logs = LogDirs.open(OpenFiles(OsFiles()), [str(tmp_path)], setting)
    with ThreadPoolExecutor(1) as pool:
        broker = Broker(1, "cluster", Flusher(pool))
        for place in (ORDERS, BILLS, OFFSETS):
            broker.partitions[place] = Partition(logs.create(place, "A" * 22), LeaderEpoch(0), CLOCK, broker.flusher)
        yield Stage(broker)
    logs.close()


def test_only_batches_of_transactions_are_asked_about() -> None:
    assert is_transactional(request({ORDERS: batch()}))
    assert not is_transactional(request({ORDERS: batch(transactional=False)}))
    assert not is_transactional(request({ORDERS: bytearray(b"\xff" * 10)}))


@pytest.mark.parametrize(
    ("version", "knows"),
    [(3, ClientKnows.NOTHING), (10, ClientKnows.NOTHING), (11, ClientKnows.ABORTABLE), (12, ClientKnows.JOINING)],
)
def test_the_coordinator_is_asked_for_the_first_batch(stage: Stage, version: int, knows: ClientKnows) -> None:
    gate = stage.gate(version, (ORDERS, batch()), (BILLS, batch()))
    assert stage.asked == [(Claim("shop", ProducerId(7), 0), (ORDERS, BILLS), knows)]
    assert not gate.refused
    assert gate.joined == {ORDERS, BILLS}
    stage.write(ORDERS, batch())
    gate = stage.gate(version, (ORDERS, batch(1)), (BILLS, batch()))
    assert stage.asked[1][1] == (BILLS,)
    assert gate.joined == {BILLS}


def test_without_an_id_or_with_several_producers_all_is_refused(stage: Stage) -> None:
    with pytest.raises(TransactionalIdRefused):
        stage._produce.gate_for(12, request({ORDERS: batch()}, None))
    with pytest.raises(InvalidProducerIdMapping):
        stage.gate(12, (ORDERS, batch()), (BILLS, batch(writer=8)))
    with pytest.raises(InvalidProducerIdMapping):
        stage.gate(12, (ORDERS, batch()), (BILLS, batch(epoch=1)))
    assert stage.asked == []


def test_a_partition_that_is_named_twice_hides_no_batch(stage: Stage) -> None:
    def twice(first: bytearray, second: bytearray) -> ProduceRequest:
        parts = tuple(PartitionProduceData(index=ORDERS.partition, records=each) for each in (first, second))
        topics = (TopicProduceData(name=ORDERS.topic, partition_data=parts),)
        return ProduceRequest(transactional_id="shop", acks=-1, timeout_ms=1000, topic_data=topics)

    for other in (batch(writer=8), batch(epoch=1)):
        with pytest.raises(InvalidProducerIdMapping):
            stage._produce.gate_for(12, twice(other, batch()))
    gate = stage._produce.gate_for(12, twice(batch(), batch(1)))
    assert gate.joined == {ORDERS}
    assert stage.asked == [(Claim("shop", ProducerId(7), 0), (ORDERS,), ClientKnows.JOINING)]
    stage.write(ORDERS, batch())
    stage.write(ORDERS, batch(1))
    assert stage._produce.gate_for(12, twice(batch(2), batch(3))).joined == frozenset()
    assert len(stage.asked) == 1


def test_where_nothing_is_verified_old_clients_write_as_they_like(stage: Stage) -> None:
    stage.is_verifying = False
    assert stage.gate(11, (ORDERS, batch())).joined == {ORDERS}
    assert stage.asked == []
    assert stage.gate(12, (ORDERS, batch())).joined == {ORDERS}
    assert len(stage.asked) == 1, "others have nobody else to say what they write to"


def test_internal_topics_and_what_is_not_there_never_join(stage: Stage) -> None:
    gate = stage.gate(12, (OFFSETS, batch()), (TopicPartition("nowhere", 0), batch()))
    assert (gate.refused, gate.joined, stage.asked) == ({}, frozenset(), [])


def test_a_fenced_producer_is_refused_without_asking(stage: Stage) -> None:
    stage.write(ORDERS, batch(epoch=4))
    gate = stage.gate(12, (ORDERS, batch(epoch=3)))
    assert isinstance(gate.refused[ORDERS], InvalidProducerEpoch)
    assert stage.asked == []


@pytest.mark.parametrize(
    ("version", "error", "code"),
    [
        (12, CoordinatorLoading("x"), ErrorCode.NOT_ENOUGH_REPLICAS),
        (11, ConcurrentTransactions("x"), ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ConcurrentTransactions("x"), ErrorCode.CONCURRENT_TRANSACTIONS),
        (12, FencedEpoch("x"), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_errors_are_told_as_the_client_knows_them(
    stage: Stage, version: int, error: BrokerError, code: ErrorCode
) -> None:
    stage.refuses = error
    gate = stage.gate(version, (ORDERS, batch()))
    assert (gate.refused[ORDERS].code, gate.joined) == (code, frozenset())
