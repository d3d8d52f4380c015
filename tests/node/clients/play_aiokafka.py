"""aiokafka plays the scenario of tests/interop/clients/README.md."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from support.client_player import LIMIT_S, How, Refused, decoded, encoded, main

T = TypeVar("T")


class AioKafka:
    """Each call has a loop and a client of its own."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topics: Sequence[str], partitions: int, configs: Mapping[str, str]) -> None:
        new = [NewTopic(name, partitions, 1, topic_configs=dict(configs)) for name in topics]
        for _, code, *_ in self._ask("create_topics", new).topic_errors:
            refuse(code)

    def topics(self) -> list[str]:
        return list(self._ask("list_topics"))

    def partitions(self, topic: str) -> int:
        described = self._ask("describe_topics", [topic])[0]
        refuse(described["error_code"])
        return len(described["partitions"])

    def config(self, topic: str, name: str) -> str:
        response = self._ask("describe_configs", [ConfigResource(ConfigResourceType.TOPIC, topic)])[0]
        code, _, _, _, entries = response.resources[0]
        refuse(code)
        return next(str(value) for found, value, *_ in entries if found == name)

    def send(self, topic: str, partition: int, records: Sequence[list[Any]], how: How) -> list[int]:
        return run(self._send(topic, partition, records, how))

    async def _send(self, topic: str, partition: int, records: Sequence[list[Any]], how: How) -> list[int]:
        codec = None if how.codec == "none" else how.codec
        acks = {"0": 0, "1": 1}.get(how.acks or "", how.acks)
        told = {"compression_type": codec, "acks": acks, "enable_idempotence": how.idempotent}
        settings = {name: value for name, value in told.items() if value is not None}
        async with AIOKafkaProducer(bootstrap_servers=self._bootstrap, **settings) as producer:
            batch = producer.create_batch()
            for _, timestamp, key, value, headers in records:
                given = [(name, text.encode()) for name, text in headers]
                if not batch.append(timestamp=timestamp, key=encoded(key), value=encoded(value), headers=given):
                    raise ValueError("more than the client puts into one batch")
            try:
                sent = await (await producer.send_batch(batch, topic, partition=partition))
            except KafkaError as error:
                raise Refused(type(error).__name__) from error
        return [] if sent is None else [sent.offset + n for n in range(len(records))]

    def read(self, topic: str, partition: int, start: int | None, count: int | None) -> list[list[Any]]:
        return run(self._read(TopicPartition(topic, partition), start, count))

    async def _read(self, where: TopicPartition, start: int | None, count: int | None) -> list[list[Any]]:
        found: list[list[Any]] = []
        async with self._consumer() as consumer:
            consumer.assign([where])
            if start is None:
                await consumer.seek_to_beginning(where)
            else:
                consumer.seek(where, start)
            end = (await consumer.end_offsets([where]))[where]
            wanted = end - await consumer.position(where) if count is None else count
            while len(found) < wanted:
                polled = await consumer.getmany(timeout_ms=LIMIT_S * 1000, max_records=wanted - len(found))
                if not polled:
                    raise TimeoutError(f"{len(found)} of {wanted} records")
                found += [as_printed(each) for each in polled[where]]
        return found

    def follow(self, topic: str, lines: Iterable[str]) -> Iterator[tuple[int, str | None]]:
        async def send_and_read(line: str) -> tuple[int, str | None]:
            await producer.send_and_wait(topic, line.encode(), partition=0)
            record = await asyncio.wait_for(consumer.getone(), LIMIT_S)
            return record.offset, decoded(record.value)

        async def start() -> tuple[AIOKafkaProducer, AIOKafkaConsumer]:
            producer = AIOKafkaProducer(bootstrap_servers=self._bootstrap, enable_idempotence=True)
            consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
            await producer.start()
            await consumer.start()
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), 0)
            return producer, consumer

        with asyncio.Runner() as runner:
            producer, consumer = runner.run(start())
            for line in lines:
                yield runner.run(send_and_read(line))
            runner.run(producer.stop())
            runner.run(consumer.stop())

    def join(self, topic: str, group: str, protocol: str, count: int) -> list[tuple[int, int]]:
        return run(self._join(topic, group, count))

    async def _join(self, topic: str, group: str, count: int) -> list[tuple[int, int]]:
        settings = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        async with AIOKafkaConsumer(topic, bootstrap_servers=self._bootstrap, **settings) as consumer:
            records = [await consumer.getone() for _ in range(count)]
            found = [(each.partition, each.offset) for each in records]
            await consumer.commit(
                {TopicPartition(topic, partition): offset + 1 for partition, offset in dict(found).items()}
            )
        return found

    def offset_at(self, topic: str, time_ms: int) -> int | None:
        return run(self._offset_at(TopicPartition(topic, 0), time_ms))

    async def _offset_at(self, where: TopicPartition, time_ms: int) -> int | None:
        async with self._consumer() as consumer:
            found = (await consumer.offsets_for_times({where: time_ms}))[where]
        return None if found is None else found.offset

    def ends(self, topic: str) -> tuple[int, int]:
        return run(self._ends(TopicPartition(topic, 0)))

    async def _ends(self, where: TopicPartition) -> tuple[int, int]:
        async with self._consumer() as consumer:
            earliest, latest = await consumer.beginning_offsets([where]), await consumer.end_offsets([where])
        return earliest[where], latest[where]

    def delete_records(self, topic: str, before: int) -> None:
        self._ask("delete_records", {TopicPartition(topic, 0): RecordsToDelete(before)})

    def add_partitions(self, topic: str, total: int) -> None:
        self._ask("create_partitions", {topic: NewPartitions(total)})

    def set_config(self, topic: str, name: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        refuse(self._ask("alter_configs", [resource])[0].resources[0][0])

    def delete(self, topic: str) -> None:
        for _, code in self._ask("delete_topics", [topic]).topic_error_codes:
            refuse(code)

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        async with AIOKafkaConsumer(bootstrap_servers=self._bootstrap) as consumer:
            yield consumer

    def _ask(self, call: str, *arguments: Any) -> Any:
        async def ask() -> Any:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                return await getattr(admin, call)(*arguments)
            finally:
                await admin.close()

        return run(ask())


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, LIMIT_S))


def refuse(code: int) -> None:
    if code:
        raise Refused(for_code(code).__name__)


def as_printed(record: Any) -> list[Any]:
    headers = [[name, decoded(data)] for name, data in record.headers]
    return [record.offset, record.timestamp, decoded(record.key), decoded(record.value), headers]


main(AioKafka)
