"""Moves of replicas from broker to broker: begun, ended before their time, listed.

With one broker in service there is nobody to move to. What is asked for is checked and written all the same, as
brokers that are registered may come back.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from odradek.controller.context import Context
from odradek.controller.errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    NoReassignmentInProgress,
)
from odradek.controller.partition_change import Election, PartitionTarget, change
from odradek.controller.partitions import config_of, find, subject_of
from odradek.controller.placement import Replicas, check_assignment
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image, Partition
from odradek.model.errors import BrokerError
from odradek.wire.records.metadata import PartitionChangeRecord


class Reassignment(NamedTuple):
    topic: str
    partition: int
    replicas: Replicas | None
    """None ends a reassignment that is under way: it goes back to where it came from."""


class Reassigned(NamedTuple):
    topic: str
    partition: int
    error: BrokerError | None


class Ongoing(NamedTuple):
    topic: str
    number: int
    partition: Partition


def alter(
    image: Image, wanted: Sequence[Reassignment], context: Context, *, may_change_factor: bool = True
) -> ControllerResult[tuple[Reassigned, ...]]:
    records: list[PartitionChangeRecord] = []
    reply: list[Reassigned] = []
    for each in wanted:
        try:
            record = _alter(image, each, context, may_change_factor)
            records += () if record is None else (record,)
            reply.append(Reassigned(each.topic, each.partition, None))
        except BrokerError as error:
            reply.append(Reassigned(each.topic, each.partition, error))
    return ControllerResult(tuple(records), tuple(reply))


def ongoing(image: Image, wanted: Sequence[tuple[str, Sequence[int]]] | None = None) -> tuple[Ongoing, ...]:
    """Of these partitions, or of all; those that are not there are left out."""
    if wanted is None:
        wanted = [(topic.name, tuple(topic.partitions)) for topic in image.topics]
    found = []
    for name, numbers in wanted:
        topic = image.topics.get(name)
        for number in numbers if topic is not None else ():
            partition = topic.partitions.get(number) if topic is not None else None
            if partition is not None and (partition.adding or partition.removing):
                found.append(Ongoing(name, number, partition))
    return tuple(found)


def _alter(
    image: Image, wanted: Reassignment, context: Context, may_change_factor: bool
) -> PartitionChangeRecord | None:
    topic, partition = find(image, wanted.topic, wanted.partition)
    subject = subject_of(image, topic, wanted.partition, context)
    if wanted.replicas is None:
        is_unclean_allowed = config_of(image, topic.name, context).unclean_leader_election_enable
        return change(subject, _revert(partition, is_unclean_allowed))
    check_assignment(image, wanted.replicas, None)
    if not may_change_factor:
        _check_factor(partition, wanted.replicas)
    return change(subject, _towards(partition, wanted.replicas))


def _towards(partition: Partition, replicas: Replicas) -> PartitionTarget:
    """Those that are to go stay until the others are in sync."""
    removing = tuple(sorted(set(partition.replicas) - set(replicas)))
    adding = tuple(sorted(set(replicas) - set(partition.replicas)))
    return replace(
        PartitionTarget.unchanged(partition),
        replicas=(*replicas, *removing),
        removing=removing or partition.removing,
        adding=adding or partition.adding,
    )


def _revert(partition: Partition, is_unclean_allowed: bool) -> PartitionTarget:
    if not partition.adding and not partition.removing:
        raise NoReassignmentInProgress("No partition reassignment is in progress")
    replicas = tuple(each for each in partition.replicas if each not in partition.adding)
    isr = tuple(each for each in partition.isr if each not in partition.adding)
    if not replicas:
        raise InvalidReplicaAssignment("all replicas are new: there is nothing to go back to")
    if not isr and not is_unclean_allowed:
        raise InvalidReplicaAssignment("nobody of before is in sync, and unclean elections are not allowed")
    election = Election.UNCLEAN if is_unclean_allowed else Election.ONLINE
    return PartitionTarget(replicas, isr or replicas[:1], (), (), election)


def _check_factor(partition: Partition, replicas: Replicas) -> None:
    """Of what a reassignment under way is to come to."""
    now = len((set(partition.replicas) | set(partition.adding)) - set(partition.removing))
    if now != len(replicas):
        raise InvalidReplicationFactor(f"The replication factor is {now} and cannot be changed to {len(replicas)}")
