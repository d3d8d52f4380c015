"""A process that keeps a broker busy, whatever happens to the broker, and remembers what it was told.

    python loading_child.py PORT SEED LEDGER

Producers, some of them idempotent, and an administrator. Each of them connects again when its connection ends;
producers then send again what was not answered. For each answer a line is printed. When standard input ends, they
finish what they began, and what was acknowledged is written to the file LEDGER as JSON.
"""

import asyncio
import json
import logging
import sys
from collections import deque
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId, TimestampMs
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.server.clock import SystemClock
from odradek.testing.raw_client import RawClient
from odradek.testing.running_node import create_topic
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

if TYPE_CHECKING:
    from collections.abc import Coroutine

LOST = (ConnectionError, asyncio.IncompleteReadError)
PATIENCE_S = 120
IN_FLIGHT_MAX = 5
PADDING = Random(1).randbytes(4000)
TARGETS = [("orders", 0), ("orders", 1), ("orders", 2), ("aged", 0), ("aged", 1)]


def value_of(producer: str, number: int) -> bytes:
    """What a producer says with its record of this number, in each partition."""
    start = number * 7919 % 2500
    return f"{producer}/{number}/".encode() + PADDING[start : start + number % 1500]


class Batch(NamedTuple):
    topic: str
    partition: int
    first: int
    """Number of its first record, counted by its producer in this partition."""
    size: int
    data: bytearray


class Ledger:
    """What was acknowledged."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, str, int, int, int, int]] = []
        """Producer, topic, partition, number of the first record, records, offset of the first record."""
        self.producer_ids: list[int] = []
        self.topics: dict[str, str] = {}
        """By name: there, gone, or unknown where the answer was lost."""
        self.cut = 0
        """Records of the topic `cut` are deleted up to here."""
        self.setting = 0
        """The value that the topic `settings` has, or one that was tried after it."""
        self.errors: list[str] = []


class Load:
    def __init__(self, port: int, rng: Random) -> None:
        self.ledger = Ledger()
        self.rng = rng
        self.stop = asyncio.Event()
        self._port = port

    async def connect(self) -> RawClient:
        while True:
            try:
                return await RawClient.connect("127.0.0.1", self._port)
            except ConnectionError:
                await asyncio.sleep(0.01)  # it is down: as clients do, try again in a while

    def progress(self) -> None:
        sys.stdout.write("answered\n")
        sys.stdout.flush()

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
        self._load.check("CreateTopics", await create_topic(client, name, self._load.rng.randrange(1, 4)))
        self._ledger.topics[name] = "there"
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
        config = AlterableConfig(name="retention.ms", config_operation=0, value=str(number))
        resource = AlterConfigsResource(resource_type=2, resource_name="settings", configs=(config,))
        request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
        response = await client.ask(request, IncrementalAlterConfigsResponse, 1)
        self._load.check("IncrementalAlterConfigs", response.responses[0].error_code)
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


async def wait_for_end_of_input(stop: asyncio.Event) -> None:
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    stop.set()


async def main(port: int, seed: int) -> Ledger:
    load = Load(port, Random(seed))
    work: list[Coroutine[Any, Any, None]] = [
        *(Producer(load, f"idempotent-{number}", idempotent=True).run() for number in range(2)),
        *(Producer(load, f"plain-{number}", idempotent=False).run() for number in range(2)),
        *(Administrator(load, name).run() for name in range(4)),
        wait_for_end_of_input(load.stop),
    ]
    async with asyncio.TaskGroup() as tasks:
        for each in work:
            tasks.create_task(each)
    return load.ledger


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of writing to connections that are lost
    told = asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
    Path(sys.argv[3]).write_text(json.dumps(vars(told)), encoding="utf-8")
