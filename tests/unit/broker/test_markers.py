"""The end of a transaction in its partitions: there, deleted, not led here, late, or with groups that are loading."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from odradek.broker.broker import Broker
from odradek.broker.coordination.markers import Marker, Markers
from odradek.broker.partitions.partition import Partition
from odradek.coordinators.errors import CoordinatorLoading
from odradek.coordinators.transactions.markers import WriteMarkers
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.flush import Flusher
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.clock import ManualClock

if TYPE_CHECKING:
    from odradek.broker.coordination.groups import Groups
    from odradek.broker.coordination.transactions import Transactions
    from odradek.metadata.image import Image

CLOCK = ManualClock()
WRITER = ProducerId(7)
ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)
OFFSETS, STATE = TopicPartition("__consumer_offsets", 0), TopicPartition("__transaction_state", 0)
COORDINATOR_EPOCH = 5


class Stage:
    """Stands for the coordinators: keeps what they are told."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.left: list[tuple[TopicPartition, ...]] = []
        self.ended: list[tuple[int, ProducerId, bool]] = []
        self.is_loading = False
        self.markers = Markers(broker, cast("Groups", self))

    def decide(self, _key: str, command: Callable[[Any], object]) -> None:
        command(self)

    def marked(self, _transactional_id: str, left: list[TopicPartition]) -> None:
        self.left.append(tuple(left))

    def end_transaction(
        self, number: int, producer_id: ProducerId, write_marker: Callable[[], None], *, commit: bool
    ) -> None:
        if self.is_loading:
            raise CoordinatorLoading("not yet")
        write_marker()
        self.ended.append((number, producer_id, commit))

    def know(self, *partitions: TopicPartition) -> None:
        """The metadata has these."""
        topics = {topic: SimpleNamespace(partitions={number: None}) for topic, number in partitions}
        self.broker.image = cast("Image", SimpleNamespace(topics=topics))

    def write(self, partition: TopicPartition, epoch: int) -> None:
        spec = BatchSpec(producer_id=WRITER, producer_epoch=epoch, base_sequence=0, transactional=True)
        batch = build_batch([Record(Offset(0), CLOCK.now_ms(), b"k", b"v")], spec)
        self.broker.partitions[partition].produce(memoryview(batch), is_joined=True)

    def end(self, *partitions: TopicPartition, epoch: int = 1) -> None:
        effect = WriteMarkers("shop", WRITER, epoch, True, 2, partitions)
        self.markers.perform(cast("Transactions", self), STATE.partition, effect)

    def stable(self, partition: TopicPartition) -> int:
        return self.broker.partitions[partition].log.last_stable_offset


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    setting = Setting(CLOCK, lambda _: TopicConfig(), lambda: "0" * 32)
    logs = LogDirs.open(OpenFiles(OsFiles()), [str(tmp_path)], setting)
    with ThreadPoolExecutor(1) as pool:
        broker = Broker(1, "cluster", Flusher(pool))
        for place in (ORDERS, BILLS, OFFSETS, STATE):
            epoch = LeaderEpoch(COORDINATOR_EPOCH if place is STATE else 0)
            broker.partitions[place] = Partition(logs.create(place, "A" * 22), epoch, CLOCK, broker.flusher)
        stage = Stage(broker)
        stage.know(ORDERS, BILLS, OFFSETS, STATE)
        yield stage
    logs.close()


def test_every_partition_gets_its_marker(stage: Stage) -> None:
    stage.write(ORDERS, 0)
    stage.write(BILLS, 0)
    assert stage.stable(ORDERS) == 0
    stage.end(ORDERS, BILLS, OFFSETS)
    assert stage.left == [()]
    assert (stage.stable(ORDERS), stage.stable(BILLS)) == (2, 2)
    assert stage.ended == [(0, WRITER, True)]
    (producer,) = stage.broker.partitions[ORDERS].log.producers
    assert (producer.epoch, producer.coordinator_epoch) == (1, COORDINATOR_EPOCH)


def test_a_partition_that_was_deleted_needs_none(stage: Stage) -> None:
    del stage.broker.partitions[BILLS]
    stage.know(ORDERS, STATE)
    stage.end(ORDERS, BILLS)
    assert stage.left == [()]


def test_a_partition_that_is_not_led_here_is_left(stage: Stage) -> None:
    del stage.broker.partitions[BILLS]
    stage.end(ORDERS, BILLS)
    assert stage.left == [(BILLS,)]


def test_groups_that_are_being_loaded_are_left(stage: Stage) -> None:
    stage.is_loading = True
    stage.end(ORDERS, OFFSETS)
    assert stage.left == [(OFFSETS,)]
    stage.is_loading = False
    stage.end(ORDERS, OFFSETS)
    assert stage.left == [(OFFSETS,), ()]
    assert stage.ended == [(0, WRITER, True)]


def test_a_late_end_does_not_touch_what_came_after_it(stage: Stage) -> None:
    stage.write(ORDERS, 1)
    stage.end(ORDERS, BILLS, epoch=1)
    assert stage.left == []
    assert stage.stable(ORDERS) == 0
    assert stage.broker.partitions[BILLS].log.end_offset == 1


def test_a_coordinator_that_was_succeeded_ends_nothing(stage: Stage) -> None:
    stage.write(ORDERS, 0)
    stage.markers.write(ORDERS, Marker(WRITER, 1, True, COORDINATOR_EPOCH + 1, 2))
    stage.end(ORDERS, epoch=2)
    assert stage.left == []
