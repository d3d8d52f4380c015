"""What a reader of committed records finds in a topic."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

_LIMIT_S = 60


def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    """All values up to where the first open transaction begins in each partition, or to the end.

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
        values: list[bytes] = []
        while partitions:
            message = consumer.poll(_LIMIT_S)
            if message is None:
                raise TimeoutError(f"partitions {sorted(partitions)} of {topic} do not come to their ends")
            error = message.error()
            if error is None:
                values.append(message.value() or b"")
            elif error.code() == KafkaError._PARTITION_EOF:
                partitions.discard(message.partition() or 0)
        return values
    finally:
        consumer.close()
