"""Creating, growing and deleting topics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.controller import configs
from odradek.controller.config_checks import check_topic
from odradek.controller.context import Charge, Context, for_nothing
from odradek.controller.errors import (
    InvalidConfiguration,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    PolicyViolation,
    TopicAlreadyExists,
    TopicDeletionDisabled,
)
from odradek.controller.placement import Replicas, check_assignment, new_partition, place
from odradek.controller.result import ControllerResult
from odradek.controller.topic_names import METADATA_TOPIC, check_name, colliding
from odradek.metadata.image import ConfigResource, Image, Partition, ResourceType, Topic
from odradek.metadata.snapshot import partition_record
from odradek.metadata.uuids import to_text
from odradek.model.errors import BrokerError, InvalidTopic, UnknownTopicId, UnknownTopicOrPartition
from odradek.wire.records.metadata import RemoveTopicRecord, TopicRecord
from odradek.wire.schema import NO_UUID, Message

PARTITIONS_MAX = 10_000
"""In one request: its records go into one batch."""
AS_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partitions: int = AS_DEFAULT
    replication_factor: int = AS_DEFAULT
    assignments: Sequence[tuple[int, Replicas]] = ()
    """Partitions with their brokers, chosen by hand; the two numbers above are not given then."""
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    id: bytes
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    """What was set."""


class Created(NamedTuple):
    name: str
    outcome: CreatedTopic | BrokerError


def create(
    image: Image,
    topics: Sequence[NewTopic],
    context: Context,
    *,
    validate_only: bool = False,
    charge: Charge = for_nothing,
) -> ControllerResult[tuple[Created, ...]]:
    """Raises PolicyViolation for more than can be done at once; what is wrong with one topic is its own outcome.

    In the reply, what is named more than once comes last.
    """
    if sum(_partitions_asked(topic, context) for topic in topics) > PARTITIONS_MAX:
        raise PolicyViolation(f"Excessively large number of partitions per request: at most {PARTITIONS_MAX}")
    asked = Counter(topic.name for topic in topics)
    records: list[Message] = []
    outcomes: dict[str, CreatedTopic | BrokerError] = {}
    for topic in sorted(topics, key=lambda topic: asked[topic.name] > 1):
        try:
            if asked[topic.name] > 1:
                raise InvalidRequest(f"Duplicate topic name: {topic.name}")
            decided, outcomes[topic.name] = _create(image, topic, context, charge)
            records += decided
        except BrokerError as error:
            outcomes[topic.name] = error
    reply = tuple(Created(name, outcome) for name, outcome in outcomes.items())
    return ControllerResult(() if validate_only else tuple(records), reply)


def _partitions_asked(topic: NewTopic, context: Context) -> int:
    if topic.assignments:
        return len(topic.assignments)
    return context.default_partitions if topic.partitions == AS_DEFAULT else max(topic.partitions, 0)


def _create(image: Image, topic: NewTopic, context: Context, charge: Charge) -> tuple[list[Message], CreatedTopic]:
    _check_new_name(image, topic.name)
    config_records = _config_records(image, topic, context)
    partitions = _assigned(image, topic) if topic.assignments else _placed(image, topic, context)
    charge(len(partitions))
    topic_id = context.unused_uuid()
    records: list[Message] = [TopicRecord(name=topic.name, topic_id=topic_id), *config_records]
    records += (
        partition_record(topic_id, number, partition, image.metadata_version)
        for number, partition in enumerate(partitions)
    )
    values = {name: value for name, value in topic.configs.items() if value is not None}
    return records, CreatedTopic(topic_id, len(partitions), len(partitions[0].replicas), values)


def _check_new_name(image: Image, name: str) -> None:
    if name in image.topics:
        raise TopicAlreadyExists(f"Topic '{name}' already exists")
    if name == METADATA_TOPIC:
        raise InvalidRequest(f"Creation of the internal topic {name} is prohibited")
    check_name(name)
    other = colliding(image, name)
    if other is not None:
        raise InvalidTopic(f"Topic '{name}' collides with existing topic {other}: only dots and underscores differ")


def _config_records(image: Image, topic: NewTopic, context: Context) -> tuple[Message, ...]:
    missing = [name for name, value in topic.configs.items() if value is None]
    if missing:
        raise InvalidConfiguration(f"Null value not supported for: {', '.join(missing)}")
    values = {name: value for name, value in topic.configs.items() if value is not None}
    check_topic(values, context)
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    return configs.records_of(image, resource, values)


def _assigned(image: Image, topic: NewTopic) -> list[Partition]:
    """As someone chose by hand."""
    if topic.replication_factor != AS_DEFAULT:
        raise InvalidRequest("With a manual partition assignment, the replication factor must be -1")
    if topic.partitions != AS_DEFAULT:
        raise InvalidRequest("With a manual partition assignment, numPartitions must be -1")
    chosen: dict[int, Partition] = {}
    replication_factor: int | None = None
    for number, replicas in topic.assignments:
        if number in chosen:
            raise InvalidReplicaAssignment(f"There are multiple manual partition assignments for partition {number}")
        check_assignment(image, replicas, replication_factor)
        replication_factor = len(replicas)
        chosen[number] = _in_service(image, replicas, number)
    if sorted(chosen) != list(range(len(chosen))):
        raise InvalidReplicaAssignment(
            f"Partitions must be a consecutive 0-based integer sequence, not {sorted(chosen)}"
        )
    return [chosen[number] for number in range(len(chosen))]


def _in_service(image: Image, replicas: Replicas, number: int) -> Partition:
    partition = new_partition(image, replicas)
    if partition is None:
        raise InvalidReplicaAssignment(
            f"All brokers of the manual partition assignment for partition {number} are fenced"
        )
    return partition


def _placed(image: Image, topic: NewTopic, context: Context) -> list[Partition]:
    if topic.replication_factor < AS_DEFAULT or topic.replication_factor == 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0, or -1 for the broker's default")
    if topic.partitions < AS_DEFAULT or topic.partitions == 0:
        raise InvalidPartitions(f"Number of partitions is {topic.partitions}, an invalid non-positive value")
    count = context.default_partitions if topic.partitions == AS_DEFAULT else topic.partitions
    replication_factor = (
        context.default_replication_factor if topic.replication_factor == AS_DEFAULT else topic.replication_factor
    )
    return _new_partitions(image, range(count), replication_factor)


def _new_partitions(image: Image, numbers: range, replication_factor: int) -> list[Partition]:
    placed = (new_partition(image, replicas) for replicas in place(image, numbers, replication_factor))
    return [partition for partition in placed if partition is not None]  # some broker is in service, or place raises


# --- more partitions


@dataclass(frozen=True, slots=True)
class Growth:
    name: str
    count: int
    """Of all partitions, the new ones included."""
    assignments: Sequence[Replicas] | None = None
    """For the new ones, where someone chose by hand."""


class Grown(NamedTuple):
    name: str
    error: BrokerError | None


def create_partitions(
    image: Image, growths: Sequence[Growth], *, validate_only: bool = False, charge: Charge = for_nothing
) -> ControllerResult[tuple[Grown, ...]]:
    """Partitions can be added, not taken away."""
    asked = Counter(growth.name for growth in growths)
    records: list[Message] = []
    outcomes: dict[str, BrokerError | None] = {}
    for growth in growths:
        try:
            if asked[growth.name] > 1:
                raise InvalidRequest(f"Duplicate topic name: {growth.name}")
            records += _grow(image, growth, charge)
            outcomes[growth.name] = None
        except BrokerError as error:
            outcomes[growth.name] = error
    reply = tuple(Grown(name, error) for name, error in outcomes.items())
    return ControllerResult(() if validate_only else tuple(records), reply)


def _grow(image: Image, growth: Growth, charge: Charge) -> list[Message]:
    topic = image.topics.get(growth.name)
    if topic is None:
        raise UnknownTopicOrPartition(growth.name, None)
    now = len(topic.partitions)
    if growth.count == now:
        raise InvalidPartitions(f"Topic {growth.name} already has {now} partition(s)")
    if growth.count < now:
        raise InvalidPartitions(
            f"The topic {growth.name} currently has {now} partition(s): {growth.count} would not be an increase"
        )
    numbers = range(now, growth.count)
    if len(numbers) > PARTITIONS_MAX:
        raise PolicyViolation(f"Excessively large number of partitions per request: at most {PARTITIONS_MAX}")
    replication_factor = len(next(iter(topic.partitions.values())).replicas)
    if growth.assignments is not None and len(growth.assignments) != len(numbers):
        raise InvalidReplicaAssignment(
            f"For {len(numbers)} additional partition(s), {len(growth.assignments)} assignment(s) were specified"
        )
    charge(len(numbers))
    if growth.assignments is None:
        partitions = _new_partitions(image, numbers, replication_factor)
    else:
        for replicas in growth.assignments:
            check_assignment(image, replicas, replication_factor)
        partitions = [
            _in_service(image, replicas, number) for number, replicas in zip(numbers, growth.assignments, strict=True)
        ]
    return [
        partition_record(topic.id, number, partition, image.metadata_version)
        for number, partition in zip(numbers, partitions, strict=True)
    ]


# --- deleting


class Doomed(NamedTuple):
    """A topic that is to go, by its name or by its id."""

    name: str | None = None
    id: bytes = NO_UUID


class Deleted(NamedTuple):
    name: str | None
    id: bytes
    error: BrokerError | None


def delete(
    image: Image, doomed: Sequence[Doomed], context: Context, *, charge: Charge = for_nothing
) -> ControllerResult[tuple[Deleted, ...]]:
    """Raises TopicDeletionDisabled where delete.topic.enable says so. A topic that is named twice stays."""
    if not context.delete_topic_enable:
        raise TopicDeletionDisabled("Topic deletion is disabled: delete.topic.enable is false")
    reply: list[Deleted] = []
    going: dict[bytes, Deleted] = {}
    asked = Counter(doomed)
    for each, times in asked.items():
        try:
            _check_doomed(each, times)
            topic = _find(image, each)
        except BrokerError as error:
            reply.append(Deleted(each.name, each.id, error))
            continue
        again = topic.id in going or asked[Doomed(id=topic.id)] > 1
        refusal = (
            InvalidRequest(f"Topic {topic.name} was already supplied, by its name or by its id") if again else None
        )
        going[topic.id] = Deleted(topic.name, topic.id, refusal)
    charged = [_charged(image, each, charge) for each in going.values()]
    records = tuple(RemoveTopicRecord(topic_id=each.id) for each in charged if each.error is None)
    return ControllerResult(records, (*reply, *charged))


def _charged(image: Image, deleted: Deleted, charge: Charge) -> Deleted:
    topic = image.topics.by_id(deleted.id)
    if deleted.error is not None or topic is None:
        return deleted
    try:
        charge(len(topic.partitions))
    except BrokerError as error:
        return deleted._replace(error=error)
    return deleted


def _check_doomed(doomed: Doomed, times: int) -> None:
    if doomed.name is None and doomed.id == NO_UUID:
        raise InvalidRequest("Neither topic name nor id is there")
    if doomed.name is not None and doomed.id != NO_UUID:
        raise InvalidRequest("There are both topic name and topic id, and only one may be")
    if times > 1:
        raise InvalidRequest("Duplicate topic name" if doomed.name is not None else "Duplicate topic id")


def _find(image: Image, doomed: Doomed) -> Topic:
    if doomed.name is None:
        topic = image.topics.by_id(doomed.id)
        if topic is None:
            raise UnknownTopicId(f"This server does not host this topic ID: {to_text(doomed.id)}")
        return topic
    topic = image.topics.get(doomed.name)
    if topic is None:
        raise UnknownTopicOrPartition(doomed.name, None)
    return topic
