"""What members of classic groups tell each other through the broker, in the bytes that real consumers use."""

from collections.abc import Iterable

from odradek.model.topic_partition import TopicPartition
from odradek.wire.codec import decode
from odradek.wire.records.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.wire.records.consumer_protocol import TopicPartition as Named
from odradek.wire.stored import write_coordinator_value
from support.sim.groups.assignors import Subscribed
from support.sim.groups.requests import by_topic


def subscription_bytes(subscribed: Subscribed, version: int) -> bytes:
    """The version comes first, as in records of coordinators."""
    message = ConsumerProtocolSubscription(
        topics=subscribed.topics, owned_partitions=_named(subscribed.owned), generation_id=subscribed.generation
    )
    return write_coordinator_value(message, version)


def read_subscription(data: bytes) -> Subscribed:
    message = decode(ConsumerProtocolSubscription, int.from_bytes(data[:2]), data[2:])
    return Subscribed(message.topics, _plain(message.owned_partitions), message.generation_id)


def assignment_bytes(partitions: Iterable[TopicPartition]) -> bytes:
    return write_coordinator_value(ConsumerProtocolAssignment(assigned_partitions=_named(partitions)), 1)


def read_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Nothing is what a member gets that the leader does not know."""
    if not data:
        return ()
    return _plain(decode(ConsumerProtocolAssignment, int.from_bytes(data[:2]), data[2:]).assigned_partitions)


def _named(partitions: Iterable[TopicPartition]) -> tuple[Named, ...]:
    return tuple(Named(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions).items())


def _plain(topics: Iterable[Named]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(each.topic, number) for each in topics for number in each.partitions)
