"""In which log directories replicas lie."""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.controller.brokers import check_epoch
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.metadata.uuids import to_text
from odradek.model.errors import BrokerError, NotLeaderOrFollower, UnknownTopicId, UnknownTopicOrPartition
from odradek.wire.records.metadata import PartitionChangeRecord


class InDirectory(NamedTuple):
    topic_id: bytes
    partition: int
    directory: bytes


class Assigned(NamedTuple):
    replica: InDirectory
    error: BrokerError | None


def assign(
    image: Image, broker_id: int, broker_epoch: int, replicas: Sequence[InDirectory]
) -> ControllerResult[tuple[Assigned, ...]]:
    """A broker tells in which of its log directories its replicas are. What is known already is not written again."""
    check_epoch(image, broker_id, broker_epoch)
    records: list[PartitionChangeRecord] = []
    reply: list[Assigned] = []
    for replica in replicas:
        try:
            change = _assign(image, broker_id, replica)
            records += () if change is None else (change,)
            reply.append(Assigned(replica, None))
        except BrokerError as error:
            reply.append(Assigned(replica, error))
    return ControllerResult(tuple(records), tuple(reply))


def _assign(image: Image, broker_id: int, replica: InDirectory) -> PartitionChangeRecord | None:
    topic = image.topics.by_id(replica.topic_id)
    if topic is None:
        raise UnknownTopicId(f"This server does not host this topic ID: {to_text(replica.topic_id)}")
    partition = topic.partitions.get(replica.partition)
    if partition is None:
        raise UnknownTopicOrPartition(topic.name, replica.partition)
    if broker_id not in partition.replicas:
        raise NotLeaderOrFollower(f"broker {broker_id} has no replica of {topic.name}-{replica.partition}")
    at = partition.replicas.index(broker_id)
    directories = (*partition.directories[:at], replica.directory, *partition.directories[at + 1 :])
    if directories == partition.directories:
        return None
    return PartitionChangeRecord(partition_id=replica.partition, topic_id=topic.id, directories=directories)
