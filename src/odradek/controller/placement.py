"""Which brokers get the replicas of new partitions, and who of them leads first."""

from collections import Counter
from collections.abc import Sequence

from odradek.controller.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from odradek.metadata.image import Broker, Image, Partition
from odradek.metadata.uuids import MIGRATING, UNASSIGNED
from odradek.model.numbers import LeaderEpoch

Replicas = tuple[int, ...]


def place(image: Image, partitions: range, replication_factor: int) -> tuple[Replicas, ...]:
    """Round robin over the brokers in service, so that leaders are spread; those out of service come last.

    A broker whose log directories are all cordoned gets nothing.
    """
    brokers = [image.brokers[number] for number in sorted(image.brokers) if image.brokers[number].takes_replicas]
    active = [broker.id for broker in brokers if broker.active]
    others = [broker.id for broker in brokers if not broker.active]
    if not active:
        raise InvalidReplicationFactor("All brokers are currently fenced or have all their log directories cordoned")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactor(
            f"Unable to replicate {replication_factor} time(s): a replication factor of {replication_factor} cannot be "
            f"reached, only {len(brokers)} broker(s) are registered that have a log directory without a cordon"
        )
    first = len(image.topics)  # topics begin with different brokers
    return tuple(
        (*_rotated(active, first + number), *_rotated(others, first + number))[:replication_factor]
        for number in partitions
    )


def _rotated(brokers: list[int], by: int) -> list[int]:
    by = by % len(brokers) if brokers else 0
    return brokers[by:] + brokers[:by]


def check_assignment(image: Image, replicas: Sequence[int], replication_factor: int | None) -> None:
    """Raises InvalidReplicaAssignment for replicas that someone chose by hand and that cannot be."""
    if not replicas:
        raise InvalidReplicaAssignment("The manual partition assignment includes an empty replica list")
    for broker in replicas:
        if broker not in image.brokers:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker}: no such broker is registered"
            )
    if len(set(replicas)) < len(replicas):
        twice = next(broker for broker, times in Counter(replicas).items() if times > 1)
        raise InvalidReplicaAssignment(f"The manual partition assignment includes the broker {twice} more than once")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"where other partitions have {replication_factor} replica(s)"
        )


def new_partition(image: Image, replicas: Replicas) -> Partition | None:
    """Led by the first replica in service; None if none is."""
    isr = tuple(broker for broker in replicas if image.brokers[broker].active)
    if not isr:
        return None
    return Partition(
        leader=isr[0],
        leader_epoch=LeaderEpoch(0),
        partition_epoch=0,
        replicas=replicas,
        isr=isr,
        directories=tuple(default_directory(image.brokers[broker]) for broker in replicas),
    )


def default_directory(broker: Broker) -> bytes:
    """A broker with one log directory has no choice; with several it chooses, and tells."""
    if not broker.directories:
        return MIGRATING
    return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED
