"""Partitions that the metadata gives to a node: a few are made at once, many behind, or when they are asked for."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.broker.broker import Broker
from odradek.broker.partitions.replicas import Replicas
from odradek.metadata.replay import Batch, Replay
from odradek.model.errors import UnknownTopicOrPartition
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.storage.flush import Flusher
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from odradek.wire.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.wire.schema import Message
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import batch, log_of, open_dirs, setting, values
from support.pool import ManualPool
from support.waiting import until

ME, ANOTHER = 1, 2
ID = b"i" * 16
CLOCK = ManualClock()


class Stage:
    def __init__(self, logs: LogDirs, broker: Broker) -> None:
        self.logs = logs
        self.broker = broker
        self.replicas = Replicas(broker, logs, CLOCK)
        self._replay = Replay()

    def commit(self, *records: Message) -> None:
        start = Offset(self._replay.image.end_offset)
        batch = Batch(start, Offset(start + len(records) - 1), LeaderEpoch(1), CLOCK.now_ms(), records)
        self._replay, delta = self._replay.apply(batch)
        self.replicas.change(delta, self._replay.image)

    def create(self, count: int) -> None:
        self.commit(TopicRecord(name="orders", topic_id=ID), *(partition(number) for number in range(count)))

    @property
    def made(self) -> list[int]:
        return sorted(log.partition.partition for log in self.logs)


def partition(number: int, leader: int = ME, epoch: int = 0) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=ID,
        replicas=(leader,),
        isr=(leader,),
        removing_replicas=(),
        adding_replicas=(),
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=epoch,
    )


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    setting = Setting(CLOCK, lambda _: TopicConfig(), lambda: "0" * 32)
    logs = LogDirs.open(OpenFiles(OsFiles()), [str(tmp_path)], setting)
    with ThreadPoolExecutor(1) as pool:
        yield Stage(logs, Broker(ME, "cluster", Flusher(pool)))
    logs.close()


def test_a_few_are_there_when_their_topic_is(stage: Stage) -> None:
    stage.create(6)
    assert stage.made == [0, 1, 2, 3, 4, 5]
    assert len(stage.broker.partitions) == 6


def test_one_of_many_is_made_when_it_is_asked_for(stage: Stage) -> None:
    stage.create(1000)
    assert stage.made == []
    found = stage.broker.partition("orders", 999)
    assert (found.log.partition, found.log.end_offset) == (TopicPartition("orders", 999), 0)
    assert isinstance(next(iter(stage.broker.partitions)), TopicPartition)
    assert stage.broker.partition("orders", 999) is found
    assert stage.broker.leads(TopicPartition("orders", 7))
    assert stage.made == [7, 999]


def test_the_others_follow(stage: Stage) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            making = tasks.create_task(stage.replicas.run(), name="make")
            stage.create(100)
            await until(lambda: len(stage.made) == 100)
            stage.commit(*map(partition, range(100, 200)))
            await until(lambda: len(stage.made) == 200)
            making.cancel()

    asyncio.run(main())
    assert len(stage.broker.partitions) == 200


def test_all_at_once_at_the_end(stage: Stage) -> None:
    stage.create(20)
    stage.replicas.make_all()
    assert stage.made == list(range(20))


def test_one_that_was_never_there(stage: Stage) -> None:
    stage.create(20)
    with pytest.raises(UnknownTopicOrPartition):
        stage.broker.partition("orders", 20)
    assert not stage.broker.leads(TopicPartition("orders", 20))


def test_a_topic_that_is_deleted_before_its_logs_are_made_leaves_none(stage: Stage, tmp_path: Path) -> None:
    stage.create(20)
    stage.broker.partition("orders", 3)
    stage.commit(RemoveTopicRecord(topic_id=ID))
    stage.replicas.make_all()
    assert stage.made == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("orders")] == [
        f"orders-3.{'0' * 32}-delete"
    ]


def test_the_epoch_is_that_of_the_last_change(stage: Stage) -> None:
    stage.create(20)
    made = stage.broker.partition("orders", 0)
    stage.commit(partition(0, epoch=4), partition(1, epoch=5), partition(2, leader=ANOTHER))
    assert (made.epoch, stage.broker.partition("orders", 1).epoch) == (4, 5)
    assert stage.broker.partition("orders", 0) is made
    with pytest.raises(UnknownTopicOrPartition):
        stage.broker.partition("orders", 2)


def test_where_each_record_is_synced_a_new_epoch_shows_none_before_that_and_a_new_life_syncs_them() -> None:
    disk = FaultyDisk("/data")
    config = replace(TopicConfig(), flush_messages=1)

    async def story() -> None:
        pool = ManualPool()
        stage = Stage(open_dirs(disk, given=setting(config)), Broker(ME, "cluster", Flusher(pool)))
        stage.create(1)
        stage.broker.partition("orders", 0).produce(batch("a"))
        stage.commit(partition(0, epoch=4))
        log = stage.broker.partition("orders", 0).log
        assert (log.end_offset, log.high_watermark, len(pool)) == (1, 0, 1)

    asyncio.run(story())
    disk.crash()
    after = Stage(open_dirs(disk, given=setting(config)), Broker(ME, "cluster", Flusher(ManualPool())))
    after.create(1)
    log = after.broker.partition("orders", 0).log
    assert (log.high_watermark, log.recovery_point) == (1, 1)
    disk.power_loss()
    assert values(log_of(open_dirs(disk))) == ["a"]


# --- fenced


def test_a_fenced_broker_leads_nothing_until_it_is_unfenced(stage: Stage) -> None:
    stage.commit(a_broker(fenced=True))
    stage.create(30)
    assert stage.broker.partitions == {}
    with pytest.raises(UnknownTopicOrPartition):
        stage.broker.partition("orders", 0)
    unfenced = BrokerRegistrationChangeRecord(broker_id=ME, broker_epoch=0, fenced=-1)
    stage.commit(unfenced, *(PartitionChangeRecord(partition_id=n, topic_id=ID, leader=ME) for n in range(30)))
    assert stage.made == list(range(30)), "all at once: nobody is served yet"
    assert {each.epoch for each in stage.broker.partitions.values()} == {1}


def a_broker(*, fenced: bool) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=ME,
        incarnation_id=b"i" * 16,
        broker_epoch=0,
        end_points=(),
        features=(),
        rack=None,
        fenced=fenced,
        in_controlled_shutdown=False,
        log_dirs=(b"d" * 16,),
    )
