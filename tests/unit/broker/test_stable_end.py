"""Fetches of committed records: what they hear while transactions are open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.coordination.markers import Marker
from odradek.broker.partitions.partition import Partition
from odradek.model.errors import InvalidProducerEpoch, InvalidTxnState
from odradek.model.numbers import NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.flush import Flusher
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.clock import ManualClock
from support.pool import ManualPool

CLOCK = ManualClock()
WRITER = ProducerId(7)


class Listening:
    """A fetch that waits."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def arrived(self, size: int) -> None:
        self.heard.append(size)

    def end(self) -> None:
        raise AssertionError("the partition stays")


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    logs = LogDirs.open(
        OpenFiles(OsFiles()), [str(tmp_path)], Setting(CLOCK, lambda _: TopicConfig(), lambda: "0" * 32)
    )
    yield Partition(logs.create(TopicPartition("orders", 0), "A" * 22), LeaderEpoch(0), CLOCK, Flusher(ManualPool()))
    logs.close()


def batch_of(sequence: int = -1, epoch: int = -1, writer: ProducerId = NO_PRODUCER_ID) -> memoryview:
    record = Record(Offset(0), CLOCK.now_ms(), b"k", b"v")
    spec = BatchSpec(producer_id=writer, producer_epoch=epoch, base_sequence=sequence, transactional=writer >= 0)
    return memoryview(build_batch([record], spec))


def marker(epoch: int, *, commit: bool = True, level: int = 2) -> Marker:
    return Marker(WRITER, epoch, commit, 0, level)


def test_nothing_is_heard_before_the_transaction_ends(partition: Partition) -> None:
    fetch = Listening()
    partition.stable.readers[fetch] = None
    plain, first, second = batch_of(), batch_of(0, 3, WRITER), batch_of(1, 3, WRITER)
    partition.produce(plain)
    assert fetch.heard == [len(plain)]
    partition.produce(first, is_joined=True)
    partition.produce(second)
    assert len(fetch.heard) == 1
    partition.end_transaction(marker(4))
    (_, arrived) = fetch.heard
    assert arrived > len(first) + len(second)


def test_a_batch_of_a_transaction_that_nobody_knows_of_is_refused(partition: Partition) -> None:
    with pytest.raises(InvalidTxnState):
        partition.produce(batch_of(0, 3, WRITER))
    partition.produce(batch_of(0, 3, WRITER), is_joined=True)
    partition.end_transaction(marker(4))
    with pytest.raises(InvalidTxnState):
        partition.produce(batch_of(0, 4, WRITER))
    assert partition.log.end_offset == 2


def test_a_late_marker_does_not_end_the_next_transaction(partition: Partition) -> None:
    partition.produce(batch_of(0, 3, WRITER), is_joined=True)
    partition.end_transaction(marker(4))
    partition.end_transaction(marker(4))  # a repeat does no harm
    partition.produce(batch_of(0, 4, WRITER), is_joined=True)
    with pytest.raises(InvalidProducerEpoch):
        partition.end_transaction(marker(4, commit=False))
    assert partition.log.last_stable_offset == 3
    partition.end_transaction(marker(5))
    assert partition.log.last_stable_offset == partition.log.end_offset == 5
