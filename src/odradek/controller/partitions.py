"""Partitions that a command names, with what decides on their replicas."""

from odradek.controller.context import Context
from odradek.controller.partition_change import ChangingPartition
from odradek.metadata.image import Image, Partition, ResourceType, Topic
from odradek.model.errors import UnknownTopicOrPartition
from odradek.model.topic_config import TopicConfig


def find(image: Image, name: str, number: int) -> tuple[Topic, Partition]:
    topic = image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(name, None)
    partition = topic.partitions.get(number)
    if partition is None:
        raise UnknownTopicOrPartition(name, number)
    return topic, partition


def config_of(image: Image, name: str, context: Context) -> TopicConfig:
    """What is in force for a topic. Overrides with an unknown name or an invalid value do not count."""
    own = image.configs.of(ResourceType.TOPIC, name)
    return TopicConfig.parse_stored(own, context.topic_defaults)[0] if own else context.topic_defaults


def min_isr_of(image: Image, topic: Topic, context: Context) -> int:
    """min.insync.replicas in force for a topic: not more than it has replicas."""
    replication_factor = len(next(iter(topic.partitions.values())).replicas)
    return min(config_of(image, topic.name, context).min_insync_replicas, replication_factor)


def subject_of(image: Image, topic: Topic, number: int, context: Context) -> ChangingPartition:
    return ChangingPartition(image, topic.id, number, topic.partitions[number], min_isr_of(image, topic, context))
