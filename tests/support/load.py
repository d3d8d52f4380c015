"""Load that remembers what it was told: producers, some of them idempotent, and administrators.

Each of them connects again when its connection ends; producers then send again what was not answered. The topics
`orders`, with three partitions, `aged`, with two, `cut` and `settings` must be there.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from random import Random
from typing import NamedTuple

from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId, TimestampMs
from odradek.process.clock import SystemClock
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from support.ledger import Ledger, value_of
from support.raw_client import RawClient
from support.running_node import create_topic, produce

LOST = (ConnectionError, asyncio.IncompleteReadError)
PATIENCE_S = 120
IN_FLIGHT_MAX = 5
TARGETS = [("orders", 0), ("orders", 1), ("orders", 2), ("aged", 0), ("aged", 1)]


class Batch(NamedTuple):
    topic: str
    partition: int
    first: int
    """Number of its first record, counted by its producer in this partition."""
    size: int
    data: bytearray


class Load:
    """What they all share. `progress` is called at each answer; when `stop` is set, they finish what they began."""

    def __init__(self, port: int, rng: Random, progress: Callable[[], None]) -> None:
        self.ledger = Ledger()
        self.rng = rng
        self.stop = asyncio.Event()
        self.progress = progress
        self._port = port

    async def connect(self) -> RawClient:
        while True:
            try:
                return await RawClient.connect("127.0.0.1", self._port)
            except ConnectionError:
                await asyncio.sleep(0.01)  # it is down: as clients do, try again in a while

    def check(self, what: str, code: int) -> None:
        if code:
            self.ledger.errors.append(f"{what}: error {code}")

    async def new_producer_id(self, client: RawClient) -> ProducerId:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        response = await client.ask(request, InitProducerIdResponse, 4)
        self.check("InitProducerId", response.error_code)
        self.ledger.producer_ids.append(response.producer_id)
        return ProducerId(response.producer_id)


class Producer:
    def __init__(self, load: Load, name: str, *, idempotent: bool) -> None:
        self._load = load
        self._name = name
        self._idempotent = idempotent
        self._id = NO_PRODUCER_ID
        self._next = dict.fromkeys(TARGETS, 0)
        self._unanswered: deque[list[Batch]] = deque()

    async def run(self) -> None:
        while self._unanswered or not self._load.stop.is_set():
            client = await self._load.connect()
            try:
                if self._idempotent and self._id == NO_PRODUCER_ID:
                    self._id = await self._load.new_producer_id(client)
                await self._converse(client)
            except LOST:
                continue
            finally:
                await client.close()

    async def _converse(self, client: RawClient) -> None:
        for batches in self._unanswered:
            client.send(self._request(batches), 9)
        while True:
            while len(self._unanswered) < IN_FLIGHT_MAX and not self._load.stop.is_set():
                self._unanswered.append(self._make())
                client.send(self._request(self._unanswered[-1]), 9)
            if not self._unanswered:
                return
            async with asyncio.timeout(PATIENCE_S):
                response = await client.receive(ProduceResponse, 9)
            self._note(self._unanswered.popleft(), response)

    def _make(self) -> list[Batch]:
        rng = self._load.rng
        return [self._batch(target, rng) for target in rng.sample(TARGETS, rng.randrange(1, 4))]

    def _batch(self, target: tuple[str, int], rng: Random) -> Batch:
        first, size = self._next[target], rng.randrange(1, 12)
        self._next[target] += size
        now = SystemClock().now_ms()
        records = [
            Record(Offset(number), TimestampMs(now + number), b"key", value_of(self._name, first + number))
            for number in range(size)
        ]
        spec = BatchSpec(codec=rng.choice(list(Codec)))
        if self._idempotent:
            spec = BatchSpec(codec=spec.codec, producer_id=self._id, producer_epoch=0, base_sequence=first)
        return Batch(*target, first, size, build_batch(records, spec))

    def _request(self, batches: list[Batch]) -> ProduceRequest:
        data = tuple(
            TopicProduceData(
                name=batch.topic, partition_data=(PartitionProduceData(index=batch.partition, records=batch.data),)
            )
            for batch in batches
        )
        return ProduceRequest(acks=-1 if self._idempotent else 1, timeout_ms=10_000, topic_data=data)

    def _note(self, batches: list[Batch], response: ProduceResponse) -> None:
        for batch, topic in zip(batches, response.responses, strict=True):
            answer = topic.partition_responses[0]
            self._load.check(f"{self._name}, {batch[:4]}: {answer.error_message}", answer.error_code)
            place = (self._name, batch.topic, batch.partition, batch.first, batch.size)
            self._load.ledger.batches.append((*place, answer.base_offset))
        self._load.progress()


class Administrator:
    """Makes and deletes topics; the first one also changes a setting and deletes records."""

    def __init__(self, load: Load, name: int) -> None:
        self._load = load
        self._name = name
        self._ledger = load.ledger

    async def run(self) -> None:
        numbers = count(1)
        while not self._load.stop.is_set():
            client = await self._load.connect()
            try:
                while not self._load.stop.is_set():
                    async with asyncio.timeout(PATIENCE_S):
                        await self._do_all(client, next(numbers))
                    self._load.progress()
            except LOST:
                continue
            finally:
                await client.close()

    async def _do_all(self, client: RawClient, number: int) -> None:
        await self._load.new_producer_id(client)
        name = f"topic-{self._name}-{number}"
        self._ledger.topics[name] = "unknown"
        partitions = self._load.rng.randrange(1, 4)
        self._load.check("CreateTopics", await create_topic(client, name, partitions, flush_messages="1"))
        self._ledger.topics[name] = "there"
        self._load.check("Produce", (await produce(client, name, name)).error_code)
        self._ledger.written.append(name)
        if self._name == 0:
            await self._set(client, number)
            await self._cut(client, number)
        if self._load.rng.random() < 0.7:
            self._ledger.topics[name] = "unknown"
            request = DeleteTopicsRequest(topic_names=(name,), timeout_ms=10_000)
            response = await client.ask(request, DeleteTopicsResponse, 5)
            self._load.check("DeleteTopics", response.responses[0].error_code)
            self._ledger.topics[name] = "gone"

    async def _set(self, client: RawClient, number: int) -> None:
        self._load.check("IncrementalAlterConfigs", await set_topic(client, "settings", "retention.ms", str(number)))
        self._ledger.setting = number

    async def _cut(self, client: RawClient, number: int) -> None:
        """Delete all but what was written last."""
        batch = build_batch([Record(Offset(0), TimestampMs(number), b"key", b"to be deleted")])
        data = TopicProduceData(name="cut", partition_data=(PartitionProduceData(index=0, records=batch),))
        response = await client.ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=(data,)), ProduceResponse, 9)
        answer = response.responses[0].partition_responses[0]
        self._load.check("Produce", answer.error_code)
        part = DeleteRecordsPartition(partition_index=0, offset=answer.base_offset)
        request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name="cut", partitions=(part,)),), timeout_ms=10_000)
        deleted = (await client.ask(request, DeleteRecordsResponse, 2)).topics[0].partitions[0]
        self._load.check("DeleteRecords", deleted.error_code)
        self._ledger.cut = deleted.low_watermark


async def run_all(load: Load) -> None:
    """Until `stop`, and until everything that was sent is answered."""
    async with asyncio.TaskGroup() as tasks:
        for number in range(2):
            tasks.create_task(Producer(load, f"idempotent-{number}", idempotent=True).run())
            tasks.create_task(Producer(load, f"plain-{number}", idempotent=False).run())
        for number in range(4):
            tasks.create_task(Administrator(load, number).run())


async def set_topic(client: RawClient, topic: str, name: str, value: str) -> int:
    """Change one setting; returns the code of the answer."""
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    return (await client.ask(request, IncrementalAlterConfigsResponse, 1)).responses[0].error_code
