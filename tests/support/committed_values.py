"""What a reader of committed records finds in a topic."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

_LIMIT_S = 60


def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    return [value for _, _, value in _read(bootstrap, topic)]


def committed_keys(bootstrap: str, topic: str) -> list[tuple[int, bytes]]:
    """Each with its partition."""
    return [(partition, key) for partition, key, _ in _read(bootstrap, topic)]


def committed_pairs(bootstrap: str, topic: str) -> list[tuple[bytes, bytes]]:
    """Keys and values; those of a partition, so those of a key too, in the order in which they were written."""
    return [(key, value) for _, key, value in _read(bootstrap, topic)]


def _read(bootstrap: str, topic: str) -> list[tuple[int, bytes, bytes]]:
    """All up to where the first open transaction begins in each partition, or to the end.

    Raises TimeoutError where a partition has no leader for a minute.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader-of-committed-values",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 200,
        }
    )
    try:
        partitions = set(consumer.list_topics(topic, _LIMIT_S).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        found: list[tuple[int, bytes, bytes]] = []
        while partitions:
            message = consumer.poll(_LIMIT_S)
            if message is None:
                raise TimeoutError(f"partitions {sorted(partitions)} of {topic} do not come to their ends")
            error = message.error()
            if error is None:
                found.append((message.partition() or 0, message.key() or b"", message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                partitions.discard(message.partition() or 0)
        return found
    finally:
        consumer.close()
