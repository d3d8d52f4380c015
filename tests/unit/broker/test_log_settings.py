"""Configs of topics on their way from the metadata to the logs: at once for a few, some at a time for many."""

import asyncio

import pytest

from odradek.broker.partitions.log_settings import AT_ONCE, LogSettings
from odradek.broker.settings.settings import Settings
from odradek.metadata.image import ResourceType
from odradek.metadata.replay import Batch, Replay
from odradek.model.broker_config import BrokerConfig
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
from odradek.wire.records.metadata import ConfigRecord, PartitionRecord, TopicRecord
from odradek.wire.schema import Message
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import TOPIC_ID, open_dirs, setting
from support.waiting import until

ALL = ""
"""The resource that stands for all brokers."""


class SlowClock(ManualClock):
    """A millisecond passes whenever somebody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = 0

    def monotonic_s(self) -> float:
        self.looked += 1
        return self.looked / 1000


class Stage:
    """Topics of two partitions each."""

    def __init__(self, topics: int) -> None:
        self.settings = Settings(1, BrokerConfig(), TopicConfig())
        self.asked: list[str] = []
        """Topics whose config the logs asked for."""
        self.replay = Replay()
        self.logs = open_dirs(FaultyDisk("/data", "/more"), "/data", "/more", given=setting(self._config_of))
        self.names = [f"topic-{number}" for number in range(topics)]
        for number, name in enumerate(self.names):
            topic_id = number.to_bytes(16, "big")
            parts = [_partition(topic_id, index) for index in range(2)]
            self._apply(TopicRecord(name=name, topic_id=topic_id), *parts)
            for index in range(2):
                self.logs.create(TopicPartition(name, index), TOPIC_ID)
        self.clock = SlowClock()
        self.configs = LogSettings(self.settings, self.clock)
        self.configs.follow(self.logs, self.replay.image)
        self.asked.clear()

    def _config_of(self, topic: str) -> TopicConfig:
        self.asked.append(topic)
        return self.settings.of_named_topic(self.replay.image, topic)

    def _apply(self, *records: Message) -> None:
        start = Offset(self.replay.image.end_offset)
        batch = Batch(start, Offset(start + len(records) - 1), LeaderEpoch(1), ManualClock().now_ms(), records)
        self.replay, self.delta = self.replay.apply(batch)

    def set(self, kind: ResourceType, resource: str, name: str, value: str) -> None:
        self._apply(ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value))
        self.configs.change(self.delta, self.replay.image)

    def updated(self, segment_bytes: int) -> list[Log]:
        return [log for log in self.logs if log.config.segment_bytes == segment_bytes]


def _partition(topic_id: bytes, index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=(1,),
        isr=(1,),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )


def test_a_topics_own_config_reaches_its_logs_at_once_and_no_others() -> None:
    stage = Stage(3)
    where = TopicPartition("topic-1", 1)
    stage.logs.create_future(where, TOPIC_ID, "/more")
    stage.asked.clear()
    stage.set(ResourceType.TOPIC, "topic-1", "segment.bytes", "2000000")
    assert [log.partition.topic for log in stage.updated(2_000_000)] == ["topic-1", "topic-1"]
    future = stage.logs.future_of(where)
    assert future is not None
    assert future.config.segment_bytes == 2_000_000
    assert stage.asked == ["topic-1"]


@pytest.mark.parametrize("name", ["log.cleaner.threads", "log.retention.ms"])
def test_a_broker_config_that_no_default_changes_by_touches_nothing(name: str) -> None:
    stage = Stage(3)
    stage.set(ResourceType.BROKER, ALL, name, "1" if name == "log.cleaner.threads" else "604800000")
    assert stage.asked == []


def test_a_default_of_few_topics_is_in_force_at_once() -> None:
    stage = Stage(5)
    stage.set(ResourceType.BROKER, ALL, "log.segment.bytes", "2000000")
    assert len(stage.updated(2_000_000)) == 10
    assert sorted(stage.asked) == sorted(stage.names)


def test_a_default_of_many_topics_reaches_them_some_at_a_time() -> None:
    stage = Stage(AT_ONCE + 1)

    async def main() -> None:
        running = asyncio.get_running_loop().create_task(stage.configs.run())
        await asyncio.sleep(0)
        stage.set(ResourceType.BROKER, ALL, "log.segment.bytes", "2000000")
        assert stage.updated(2_000_000) == []
        await asyncio.sleep(0)
        assert 0 < len(stage.asked) < 5, "others have their turn after some milliseconds"
        stage.set(ResourceType.TOPIC, stage.names[-1], "segment.bytes", "3000000")
        await until(lambda: len(stage.updated(2_000_000)) + len(stage.updated(3_000_000)) == len(list(stage.logs)))
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(main())
    assert len(stage.updated(3_000_000)) == 2
