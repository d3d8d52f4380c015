"""kafka-python plays the scenario of tests/interop/clients/README.md."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, OffsetSpec
from kafka.errors import KafkaError, for_code
from kafka.structs import OffsetAndMetadata

from support.client_player import LIMIT_S, How, Refused, decoded, encoded, main


class KafkaPython:
    def __init__(self, bootstrap: str) -> None:
        self._where = {"bootstrap_servers": bootstrap}
        self._admin = KafkaAdminClient(**self._where)

    def create(self, topics: Sequence[str], partitions: int, configs: Mapping[str, str]) -> None:
        self._admin.create_topics(
            {name: {"num_partitions": partitions, "replication_factor": 1, "configs": configs} for name in topics}
        )

    def topics(self) -> list[str]:
        return list(self._admin.list_topics())

    def partitions(self, topic: str) -> int:
        described = self._admin.describe_topics([topic])[0]
        if described["error_code"]:
            raise Refused(for_code(described["error_code"]).__name__)
        return len(described["partitions"])

    def config(self, topic: str, name: str) -> str:
        described = self._admin.describe_configs([ConfigResource("topic", topic)])
        return str(described["topic"][topic][name]["value"])

    def send(self, topic: str, partition: int, records: Sequence[list[Any]], how: How) -> list[int]:
        codec = None if how.codec == "none" else how.codec
        acks = {"0": 0, "1": 1}.get(how.acks or "", how.acks)
        told = {"compression_type": codec, "acks": acks, "enable_idempotence": how.idempotent}
        settings = {name: value for name, value in told.items() if value is not None}
        if len(records) > 1:
            settings["linger_ms"] = 60_000  # one batch, which leaves with the flush
        with KafkaProducer(**self._where, **settings) as producer:
            futures = [
                producer.send(
                    topic,
                    encoded(value),
                    encoded(key),
                    headers=[(name, text.encode()) for name, text in headers],
                    partition=partition,
                    timestamp_ms=timestamp,
                )
                for _, timestamp, key, value, headers in records
            ]
            producer.flush(LIMIT_S)
            try:
                return [future.get(LIMIT_S).offset for future in futures]
            except KafkaError as error:
                raise Refused(type(error).__name__) from error

    def read(self, topic: str, partition: int, start: int | None, count: int | None) -> list[list[Any]]:
        where = TopicPartition(topic, partition)
        found: list[list[Any]] = []
        with KafkaConsumer(**self._where) as consumer:
            consumer.assign([where])
            if start is None:
                consumer.seek_to_beginning(where)
            else:
                consumer.seek(where, start)
            wanted = consumer.end_offsets([where])[where] - consumer.position(where) if count is None else count
            while len(found) < wanted:
                polled = consumer.poll(LIMIT_S * 1000, max_records=wanted - len(found))
                if not polled:
                    raise TimeoutError(f"{len(found)} of {wanted} records")
                found += [as_printed(each) for each in polled[where]]
        return found

    def follow(self, topic: str, lines: Iterable[str]) -> Iterator[tuple[int, str | None]]:
        where = TopicPartition(topic, 0)
        with KafkaProducer(**self._where) as producer, KafkaConsumer(**self._where) as consumer:
            consumer.assign([where])
            consumer.seek(where, 0)
            for line in lines:
                producer.send(topic, line.encode(), partition=0).get(LIMIT_S)
                record = consumer.poll(LIMIT_S * 1000, max_records=1)[where][0]
                yield record.offset, decoded(record.value)

    def join(self, topic: str, group: str, protocol: str, count: int) -> list[tuple[int, int]]:
        settings = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        found: list[tuple[int, int]] = []
        with KafkaConsumer(topic, **self._where, **settings) as consumer:
            while len(found) < count:
                polled = consumer.poll(LIMIT_S * 1000, max_records=count - len(found))
                if not polled:
                    raise TimeoutError(f"{len(found)} of {count} records")
                found += [(each.partition, each.offset) for records in polled.values() for each in records]
            consumer.commit(
                {
                    TopicPartition(topic, partition): OffsetAndMetadata(offset + 1, "", -1)
                    for partition, offset in dict(found).items()
                }
            )
        return found

    def offset_at(self, topic: str, time_ms: int) -> int | None:
        where = TopicPartition(topic, 0)
        with KafkaConsumer(**self._where) as consumer:
            found = consumer.offsets_for_times({where: time_ms})[where]
        return None if found is None else found.offset

    def ends(self, topic: str) -> tuple[int, int]:
        where = TopicPartition(topic, 0)
        earliest, latest = (
            self._admin.list_partition_offsets({where: spec})[where].offset
            for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
        )
        return earliest, latest

    def delete_records(self, topic: str, before: int) -> None:
        self._admin.delete_records({TopicPartition(topic, 0): before})

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions({topic: total})

    def set_config(self, topic: str, name: str, value: str) -> None:
        self._admin.alter_configs([ConfigResource("topic", topic, {name: value})])

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])


def as_printed(record: Any) -> list[Any]:
    headers = [[name, decoded(data)] for name, data in record.headers]
    return [record.offset, record.timestamp, decoded(record.key), decoded(record.value), headers]


main(KafkaPython)
