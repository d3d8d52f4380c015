"""Offsets that are committed for a group before it has members."""

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

_LIMIT_S = 30


def begin_at_the_start(admin: AdminClient, group: str, topic: str, partitions: int) -> None:
    """Commit 0 for each partition, so that no member has to ask where a partition starts.

    librdkafka 2.16 that asks may go back there later: when a rebalance or a lost connection outdates the question, it
    is asked again half a second later, even if another answer has come and records were read meanwhile.
    """
    offsets = [TopicPartition(topic, partition, 0) for partition in range(partitions)]
    (done,) = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, offsets)]).values()
    done.result(_LIMIT_S)
