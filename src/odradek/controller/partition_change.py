"""What becomes of a partition whose replicas are to be others, or that is to have another leader.

One record says all of it, and it follows from what is wanted: a reassignment that is complete is ended, a leader is
elected where the one there is cannot stay, and who is no longer in sync may still be eligible.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from odradek.controller.placement import Replicas, default_directory
from odradek.metadata.features import DIRECTORIES
from odradek.metadata.image import NO_LEADER, UNCHANGED_LEADER, UNCHANGED_STATE, Image, Partition
from odradek.metadata.uuids import LOST, MIGRATING, UNASSIGNED
from odradek.wire.records.metadata import PartitionChangeRecord

_RECOVERING = 1
_EPOCH_NOT_BUMPED_FOR_ISR = 12
"""metadata.version from which on a smaller ISR begins no new leader epoch."""


class Election(Enum):
    PREFERRED = "preferred"
    """The first replica, if it is in sync."""
    ONLINE = "online"
    """Whoever leads now, or else the first that is in sync."""
    UNCLEAN = "unclean"
    """As ONLINE; and where nobody is in sync, the first replica that is in service."""


@dataclass(frozen=True, slots=True)
class PartitionTarget:
    """What a partition is to become."""

    replicas: Replicas
    isr: Replicas
    adding: Replicas
    removing: Replicas
    election: Election = Election.ONLINE

    @classmethod
    def unchanged(cls, partition: Partition, election: Election = Election.ONLINE) -> "PartitionTarget":
        return cls(partition.replicas, partition.isr, partition.adding, partition.removing, election)


class ChangingPartition(NamedTuple):
    """The partition that a change is about."""

    image: Image
    topic_id: bytes
    number: int
    partition: Partition
    min_isr: int
    """In force for the topic: not more than it has replicas."""


class _Elected(NamedTuple):
    leader: int
    is_unclean: bool = False


@dataclass(frozen=True, slots=True)
class _Eligible:
    """Replicas that may lead though they are not in sync."""

    known: Replicas
    last_known: Replicas


def change(subject: ChangingPartition, wanted: PartitionTarget) -> PartitionChangeRecord | None:
    """None where nothing changes."""
    partition = subject.partition
    wanted = _completed(wanted)
    eligible = _eligible(subject, wanted)
    elected = _elect(subject, wanted, eligible)
    leader, isr, state = UNCHANGED_LEADER, wanted.isr, UNCHANGED_STATE
    if elected.leader != partition.leader:
        leader = elected.leader
        if leader in eligible.known:
            isr = (leader,)
            eligible = _Eligible(tuple(each for each in eligible.known if each != leader), eligible.last_known)
        elif elected.is_unclean:
            isr = (leader,)
            eligible = _Eligible((), ())
            state = UNCHANGED_STATE if partition.leader_recovery_state == _RECOVERING else _RECOVERING
    elif not set(partition.replicas) <= set(wanted.replicas):
        leader = partition.leader  # those that are gone must not be taken for followers any more
    keeps_isr = isr == partition.isr or (not isr and not subject.image.has_eligible_leaders)
    if leader == UNCHANGED_LEADER and not keeps_isr and _bumps_for_isr(subject, isr):
        leader = partition.leader
    directories = _directories(subject, wanted.replicas)
    record = PartitionChangeRecord(
        partition_id=subject.number,
        topic_id=subject.topic_id,
        isr=None if keeps_isr else isr,
        leader=leader,
        replicas=_if_other(wanted.replicas, partition.replicas),
        removing_replicas=_if_other(wanted.removing, partition.removing),
        adding_replicas=_if_other(wanted.adding, partition.adding),
        leader_recovery_state=state,
        directories=None if directories == partition.directories else directories,
        eligible_leader_replicas=_if_other(eligible.known, partition.eligible_leaders),
        last_known_elr=_last_known(subject, leader),
    )
    nothing = PartitionChangeRecord(partition_id=subject.number, topic_id=subject.topic_id)
    return None if record == nothing else record


def _if_other(after: Replicas, before: Replicas) -> Replicas | None:
    return None if after == before else after


def _completed(wanted: PartitionTarget) -> PartitionTarget:
    """A reassignment ends when all that are to stay are in sync: those that are to go are gone then."""
    if not wanted.adding and not wanted.removing:
        return wanted
    isr = tuple(each for each in wanted.isr if each not in wanted.removing)
    replicas = tuple(each for each in wanted.replicas if each not in wanted.removing)
    needed = set(wanted.adding)
    if len(wanted.adding) < len(wanted.removing):
        needed |= set(replicas)
    if not isr or not replicas or not needed <= set(isr):
        return wanted
    return PartitionTarget(replicas, isr, (), (), wanted.election)


def _eligible(subject: ChangingPartition, wanted: PartitionTarget) -> _Eligible:
    """Who was in sync, or eligible, and is not in sync any more, while too few are for the topic's minimum."""
    partition = subject.partition
    if not subject.image.has_eligible_leaders:
        return _Eligible((), ())
    if len(wanted.isr) >= subject.min_isr:
        return _Eligible((), ())
    known = {*partition.eligible_leaders, *partition.isr} - set(wanted.isr)
    return _Eligible(tuple(sorted(known)), partition.last_known_eligible)


def _elect(subject: ChangingPartition, wanted: PartitionTarget, eligible: _Eligible) -> _Elected:
    partition = subject.partition
    may_lead = _acceptable(subject)

    def is_valid(replica: int) -> bool:
        in_sync = replica in wanted.isr or (not wanted.isr and replica in eligible.known)
        return in_sync and may_lead(replica)

    if wanted.election is Election.PREFERRED and is_valid(wanted.replicas[0]):
        return _Elected(wanted.replicas[0])
    for replica in (partition.leader, *wanted.replicas):
        if is_valid(replica):
            return _Elected(replica)
    last = partition.last_known_eligible
    nobody_known = subject.image.has_eligible_leaders and not wanted.isr and not eligible.known
    if nobody_known and len(last) == 1 and may_lead(last[0]):
        return _Elected(last[0], is_unclean=True)
    if wanted.election is Election.UNCLEAN:
        for replica in wanted.replicas:
            if may_lead(replica):
                return _Elected(replica, is_unclean=True)
    return _Elected(NO_LEADER)


def _acceptable(subject: ChangingPartition) -> Callable[[int], bool]:
    """Who is in service, and so is the directory that its replica is in."""

    def may_lead(replica: int) -> bool:
        broker = subject.image.brokers.get(replica)
        if broker is None or not broker.active or replica not in subject.partition.replicas:
            return False
        directory = subject.partition.directories[subject.partition.replicas.index(replica)]
        return directory != LOST and (directory in (MIGRATING, UNASSIGNED) or directory in broker.directories)

    return may_lead


def _bumps_for_isr(subject: ChangingPartition, isr: Replicas) -> bool:
    is_smaller = not set(subject.partition.isr) <= set(isr)
    return is_smaller and subject.image.metadata_version < _EPOCH_NOT_BUMPED_FOR_ISR


def _directories(subject: ChangingPartition, replicas: Replicas) -> tuple[bytes, ...]:
    """Replicas that stay keep theirs."""
    partition, image = subject.partition, subject.image
    if image.metadata_version < DIRECTORIES:
        return partition.directories
    kept = dict(zip(partition.replicas, partition.directories, strict=True))
    return tuple(kept[each] if each in kept else default_directory(image.brokers[each]) for each in replicas)


def _last_known(subject: ChangingPartition, leader: int) -> Replicas | None:
    """The last leader is remembered while there is none."""
    partition = subject.partition
    if not subject.image.has_eligible_leaders:
        return None
    if leader == NO_LEADER and not partition.last_known_eligible:
        return (partition.leader,)
    if leader >= 0 and partition.last_known_eligible:
        return ()
    return None
