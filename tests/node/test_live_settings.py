"""Settings of all brokers that are changed while a node runs: what it does is another at once, and the same again."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.process.machine import Machine
from odradek.records.batch import Codec, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from support.clock import ManualClock
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

BROKER, SET, DELETE = 4, 0, 1
HOUR_MS = 3_600_000


class Stage:
    """A node whose clock is moved by hand, and a topic after the other."""

    def __init__(self, client: RawClient, directory: Path, clock: ManualClock, count: int = 0) -> None:
        """`count` says how many topics there are already."""
        self.clock = clock
        self.count = count
        self._client = client
        self._directory = directory

    @property
    def topic(self) -> str:
        return f"orders{self.count}"

    async def new_topic(self) -> None:
        self.count += 1
        assert await create_topic(self._client, self.topic) == ErrorCode.NONE

    async def produce(self, size: int = 100, key: bytes | None = b"k", age_ms: int = 0) -> PartitionProduceResponse:
        when = TimestampMs(self.clock.now_ms() - age_ms)
        batch = build_batch([Record(Offset(0), when, key, b"x" * size)], BatchSpec())
        data = TopicProduceData(name=self.topic, partition_data=(PartitionProduceData(index=0, records=batch),))
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(data,))
        return (await self._client.ask(request, ProduceResponse, 9)).responses[0].partition_responses[0]

    async def segments(self) -> int:
        return len(self._files())

    def last_codec(self) -> Codec:
        data, at = memoryview(self._files()[-1].read_bytes()), 0
        head = parse_head(data)
        while at + head.size < len(data):
            at += head.size
            head = parse_head(data[at:])
        return head.codec

    def last_size(self) -> int:
        return self._files()[-1].stat().st_size

    def _files(self) -> list[Path]:
        return sorted((self._directory / f"{self.topic}-0").glob("*.log"))


async def change(client: RawClient, values: dict[str, str | None]) -> None:
    configs = tuple(
        some.AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
        for name, value in values.items()
    )
    resource = some.AlterConfigsResource(resource_type=BROKER, resource_name="", configs=configs)
    request = some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    answer = await client.ask(request, some.IncrementalAlterConfigsResponse, 1)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer.responses[0].error_message


async def too_large(stage: Stage) -> object:
    return (await stage.produce(200)).error_code == ErrorCode.MESSAGE_TOO_LARGE


async def has_append_time(stage: Stage) -> object:
    return (await stage.produce()).log_append_time_ms >= 0


async def too_old(stage: Stage) -> object:
    return (await stage.produce(age_ms=HOUR_MS)).error_code == ErrorCode.INVALID_TIMESTAMP


async def from_the_future(stage: Stage) -> object:
    return (await stage.produce(age_ms=-2 * HOUR_MS)).error_code != ErrorCode.INVALID_TIMESTAMP


async def recompressed(stage: Stage) -> object:
    await stage.produce(1000)
    return stage.last_codec() is Codec.LZ4


async def needs_a_key(stage: Stage) -> object:
    return (await stage.produce(key=None)).error_code == ErrorCode.INVALID_RECORD


async def rolls_by_size(stage: Stage) -> object:
    await stage.new_topic()
    for _ in range(2):
        await stage.produce(700_000)
    return await stage.segments() == 2


async def rolls_by_time(stage: Stage) -> object:
    await stage.new_topic()
    for _ in range(2):
        await stage.produce()
        stage.clock.advance(HOUR_MS)
    return await stage.segments() == 2


async def rolls_by_index(stage: Stage) -> object:
    await stage.new_topic()
    for _ in range(4):
        await stage.produce()
    return await stage.segments() > 1


async def preallocated(stage: Stage) -> object:
    """A segment, before it has so much in it."""
    await rolls_by_size(stage)
    return stage.last_size() == 1 << 20


Question = Callable[[Stage], Awaitable[object]]

QUESTIONS: list[tuple[Question, dict[str, str]]] = [
    (too_large, {"message.max.bytes": "150"}),
    (has_append_time, {"log.message.timestamp.type": "LogAppendTime"}),
    (too_old, {"log.message.timestamp.before.max.ms": "60000"}),
    (from_the_future, {"log.message.timestamp.after.max.ms": str(3 * HOUR_MS)}),
    (recompressed, {"compression.type": "lz4"}),
    (needs_a_key, {"log.cleanup.policy": "compact"}),
    (rolls_by_size, {"log.segment.bytes": "1048576"}),
    (rolls_by_time, {"log.roll.ms": "60000"}),
    (rolls_by_index, {"log.index.size.max.bytes": "8", "log.index.interval.bytes": "0"}),
    (preallocated, {"log.preallocate": "true", "log.segment.bytes": "1048576"}),
]
"""What a node does, or not, and the settings that make the difference."""


@pytest.mark.parametrize(("question", "values"), QUESTIONS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_change_makes_the_difference(tmp_path: Path, question: Question, values: dict[str, str]) -> None:
    async def main() -> None:
        clock = ManualClock()
        async with node_on(tmp_path, machine=Machine(clock=clock)) as client:
            stage = Stage(client, tmp_path, clock)
            await stage.new_topic()
            assert not await question(stage)
            await change(client, dict(values))
            assert await question(stage)
            await change(client, dict.fromkeys(values))
            assert not await question(stage)
            await change(client, dict(values))
        async with node_on(tmp_path, machine=Machine(clock=clock)) as client:
            assert await question(Stage(client, tmp_path, clock, stage.count)), "kept over a restart"

    asyncio.run(main())


def test_producers_are_forgotten_as_soon_as_it_says_so(tmp_path: Path) -> None:
    config = BrokerConfig(producer_id_expiration_check_interval_ms=10)

    async def known(client: RawClient) -> int:
        request = DescribeProducersRequest(topics=(TopicRequest(name="orders", partition_indexes=(0,)),))
        answer = await client.ask(request, DescribeProducersResponse, 0)
        return len(answer.topics[0].partitions[0].active_producers)

    async def main() -> None:
        clock = ManualClock()
        async with node_on(tmp_path, machine=Machine(clock=clock), config=config) as client:
            await create_topic(client, "orders")
            spec = BatchSpec(producer_id=ProducerId(5), producer_epoch=0, base_sequence=0)
            assert (await produce(client, "orders", "x", spec=spec)).error_code == ErrorCode.NONE
            clock.advance(HOUR_MS)
            assert await known(client) == 1
            await change(client, {"producer.id.expiration.ms": "60000"})
            while await known(client):
                pass

    asyncio.run(main())
