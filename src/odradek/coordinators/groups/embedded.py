"""The consumer embedded protocol: subscriptions and assignments within JoinGroup and SyncGroup, read and written.

For a coordinator that assigns in place of the leader.
"""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct

from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.metadata.image import Topics
from odradek.model.errors import BadRequest
from odradek.wire.codec import decode, encode
from odradek.wire.messages.consumer_group_heartbeat import TopicPartitions
from odradek.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.schema import M, uuid

_INT16 = Struct(">h")


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises BadRequest."""
    return _read(ConsumerProtocolSubscription, metadata)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Raises BadRequest. No bytes at all stand for no partitions."""
    return _read(ConsumerProtocolAssignment, data) if data else ConsumerProtocolAssignment(assigned_partitions=())


def write_assignment(partitions: Mapping[uuid, Iterable[int]], topics: Topics, metadata: bytes) -> bytes:
    """In the version of what the member told. Topics that are gone are left out."""
    version = _version(ConsumerProtocolAssignment, metadata)
    named = [(topics.by_id(topic_id), numbers) for topic_id, numbers in partitions.items()]
    assigned = tuple(
        TopicPartition(topic=topic.name, partitions=tuple(sorted(numbers)))
        for topic, numbers in sorted(
            ((topic, numbers) for topic, numbers in named if topic), key=lambda pair: pair[0].name
        )
    )
    return _INT16.pack(version) + encode(ConsumerProtocolAssignment(assigned_partitions=assigned), version)


def by_id(partitions: Iterable[TopicPartition], topics: Topics) -> Assignment:
    """Those that exist."""
    found: dict[uuid, frozenset[int]] = {}
    for each in partitions:
        topic = topics.get(each.topic)
        numbers = frozenset(each.partitions).intersection(topic.partitions) if topic else frozenset()
        if topic and numbers:
            found[topic.id] = found.get(topic.id, frozenset()) | numbers
    return found


def owned(subscription: ConsumerProtocolSubscription, topics: Topics) -> list[TopicPartitions]:
    """What the member says that it has, as members of the other protocol say it."""
    return list(_owned(by_id(subscription.owned_partitions, topics)))


def _owned(partitions: Assignment) -> Iterator[TopicPartitions]:
    for topic_id, numbers in partitions.items():
        yield TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(numbers)))


def _read(kind: type[M], data: bytes) -> M:
    return decode(kind, _version(kind, data), data[_INT16.size :])


def _version(kind: type[M], data: bytes) -> int:
    """Of versions that come after the last one we know, what we know is read and written."""
    if len(data) < _INT16.size:
        raise BadRequest(f"{len(data)} bytes are too few for a {kind.__name__}")
    version = int(_INT16.unpack_from(data)[0])
    if version < 0:
        raise BadRequest(f"{kind.__name__} in version {version}")
    return min(version, kind.spec.versions[1])
