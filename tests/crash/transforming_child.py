"""An application: passes records on from one topic to another in transactions, with their offsets. A line for each.

It ends when anything fails: whoever started it starts another one, which takes over the transactional id.
"""

import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

BATCH = 20
TIMEOUT_S = 60


def transform(bootstrap: str, source: str, target: str, group: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": "transformer",
            "transaction.timeout.ms": 60_000,
            "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 20,
            "linger.ms": 0,
        }
    )
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 1_500,
            "heartbeat.interval.ms": 300,
            "reconnect.backoff.max.ms": 200,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    # With these, partitions go and come within `consume` alone, and so never within a transaction.
    consumer.subscribe([source], on_assign=_nothing, on_revoke=_nothing, on_lost=_nothing)
    while True:
        records = [each for each in consumer.consume(BATCH, 0.1) if each.error() is None]
        if not records:
            continue
        producer.begin_transaction()
        for each in records:
            producer.produce(target, key=each.key(), value=each.value(), partition=each.partition() or 0)
        positions = {each.partition() or 0: (each.offset() or 0) + 1 for each in records}
        offsets = [TopicPartition(source, partition, offset) for partition, offset in positions.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT_S)
        producer.commit_transaction(TIMEOUT_S)
        print(len(records), flush=True)  # noqa: T201 - it is told so


def _nothing(*_: object) -> None:
    return


if __name__ == "__main__":
    try:
        transform(*sys.argv[1:])
    except KafkaException as error:
        sys.exit(f"{error}")
