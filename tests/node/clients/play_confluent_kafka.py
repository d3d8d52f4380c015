"""confluent-kafka plays the scenario of tests/interop/clients/README.md."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewPartitions, NewTopic

from support.client_player import LIMIT_S, How, Refused, decoded, encoded, main

ENDS = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
NO_OFFSET = -1  # the client's "end of the partition", where no record is late enough


class ConfluentKafka:
    def __init__(self, bootstrap: str) -> None:
        self._where: dict[str, Any] = {"bootstrap.servers": bootstrap}
        self._admin = AdminClient(self._where)

    def create(self, topics: Sequence[str], partitions: int, configs: Mapping[str, str]) -> None:
        done(self._admin.create_topics([NewTopic(name, partitions, 1, config=dict(configs)) for name in topics]))

    def topics(self) -> list[str]:
        return list(self._admin.list_topics(timeout=LIMIT_S).topics)

    def partitions(self, topic: str) -> int:
        return len(done(self._admin.describe_topics(TopicCollection([topic]))).partitions)

    def config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        return str(done(self._admin.describe_configs([resource]))[name].value)

    def send(self, topic: str, partition: int, records: Sequence[list[Any]], how: How) -> list[int]:
        told = {"compression.type": how.codec, "acks": how.acks, "enable.idempotence": how.idempotent}
        settings: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
        if len(records) > 1:
            settings["linger.ms"] = 60_000  # one batch, which leaves with the flush
        producer = Producer({**self._where, **settings})
        outcomes: list[tuple[Any, Message]] = []
        for _, timestamp, key, value, headers in records:
            producer.produce(
                topic,
                encoded(value),
                encoded(key),
                partition=partition,
                timestamp=timestamp,
                headers=[(name, text.encode()) for name, text in headers],
                on_delivery=lambda error, message: outcomes.append((error, message)),
            )
        if producer.flush(LIMIT_S):
            raise TimeoutError("not delivered")
        for error, _ in outcomes:
            if error:
                raise Refused(error.name())
        return [message.offset() or 0 for _, message in outcomes]

    def read(self, topic: str, partition: int, start: int | None, count: int | None) -> list[list[Any]]:
        consumer = self._consumer()
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), LIMIT_S)
            start = low if start is None else start
            consumer.assign([TopicPartition(topic, partition, start)])
            return [as_printed(each) for each in consumer.consume(high - start if count is None else count, LIMIT_S)]
        finally:
            consumer.close()

    def follow(self, topic: str, lines: Iterable[str]) -> Iterator[tuple[int, str | None]]:
        producer, consumer = Producer({**self._where, "enable.idempotence": True}), self._consumer()
        consumer.assign([TopicPartition(topic, 0, 0)])
        for line in lines:
            producer.produce(topic, line, partition=0)
            if producer.flush(LIMIT_S):
                raise TimeoutError("not delivered")
            offset, _, _, value, _ = as_printed(consumer.consume(1, LIMIT_S)[0])
            yield offset, value
        consumer.close()

    def join(self, topic: str, group: str, protocol: str, count: int) -> list[tuple[int, int]]:
        settings = {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest"}
        consumer = Consumer({**self._where, **settings, "enable.auto.commit": False})
        consumer.subscribe([topic])
        found = []
        for _ in range(count):
            (message,) = consumer.consume(1, LIMIT_S)
            if message.error():
                raise KafkaException(message.error())
            found.append((message.partition() or 0, message.offset() or 0))
        committed = [TopicPartition(topic, partition, offset + 1) for partition, offset in dict(found).items()]
        consumer.commit(offsets=committed, asynchronous=False)
        consumer.close()
        return found

    def offset_at(self, topic: str, time_ms: int) -> int | None:
        consumer = self._consumer()
        try:
            found = consumer.offsets_for_times([TopicPartition(topic, 0, time_ms)], LIMIT_S)[0].offset
        finally:
            consumer.close()
        return None if found == NO_OFFSET else found

    def ends(self, topic: str) -> tuple[int, int]:
        earliest, latest = (done(self._admin.list_offsets({TopicPartition(topic, 0): spec})).offset for spec in ENDS)
        return earliest, latest

    def delete_records(self, topic: str, before: int) -> None:
        done(self._admin.delete_records([TopicPartition(topic, 0, before)]))

    def add_partitions(self, topic: str, total: int) -> None:
        done(self._admin.create_partitions([NewPartitions(topic, total)]))

    def set_config(self, topic: str, name: str, value: str) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        done(
            self._admin.incremental_alter_configs(
                [ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])]
            )
        )

    def delete(self, topic: str) -> None:
        done(self._admin.delete_topics([topic]))

    def _consumer(self) -> Consumer:
        # It wants a group, and has no use for it where partitions are assigned.
        return Consumer({**self._where, "group.id": "unused", "enable.auto.commit": False})


def done(futures: dict[Any, Any]) -> Any:
    """The last result, when all are there."""
    try:
        return [future.result(LIMIT_S) for future in futures.values()][-1]
    except KafkaException as error:
        raise Refused(error.args[0].name()) from error


def as_printed(message: Any) -> list[Any]:
    if message.error():
        raise KafkaException(message.error())
    headers = [[name, decoded(data)] for name, data in message.headers() or []]
    return [message.offset(), message.timestamp()[1], decoded(message.key()), decoded(message.value()), headers]


main(ConfluentKafka)
