"""Brokers come and go: registering, taking up service, shutting down in order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.controller.errors import BrokerNotRegistered, InvalidRegistration, StaleBrokerEpoch
from odradek.metadata.decision import Decision
from odradek.metadata.features import CORDONED_DIRECTORIES, DIRECTORIES, SUPPORTED, Levels
from odradek.metadata.image import NO_LEADER, Broker, Endpoint, Image, Partition
from odradek.metadata.snapshot import register_broker_record
from odradek.metadata.uuids import is_reserved, to_text
from odradek.wire.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)
from odradek.wire.schema import Message

_SET = 1
_CLEAR = -1
_RECOVERING = 1
_UNCHANGED = -1
_AS_IT_IS = -2
"""For the leader of a partition, where -1 is nobody."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a broker says of itself when it starts."""

    broker_id: int
    incarnation_id: bytes
    """Another one each time that it starts."""
    endpoints: Mapping[str, Endpoint]
    """By the name of the listener."""
    directories: tuple[bytes, ...]
    """The ids of its log directories."""
    rack: str | None = None
    features: Mapping[str, Levels] = field(default_factory=lambda: dict(SUPPORTED))


def register(image: Image, registration: Registration) -> Decision[int]:
    """The reply is the broker's epoch. It is fenced until it asks to be unfenced.

    The epoch is the offset that the records are going to have: a new one for a new incarnation.
    """
    _check_registration(image, registration)
    known = image.brokers.get(registration.broker_id)
    same = known is not None and known.incarnation_id == registration.incarnation_id
    broker = Broker(
        id=registration.broker_id,
        epoch=known.epoch if known is not None and same else image.end_offset,
        incarnation_id=registration.incarnation_id,
        endpoints=registration.endpoints,
        features=registration.features,
        rack=registration.rack,
        fenced=known.fenced if known is not None and same else True,
        in_controlled_shutdown=known.in_controlled_shutdown if known is not None and same else False,
        directories=registration.directories if image.metadata_version >= DIRECTORIES else (),
    )
    return Decision((register_broker_record(broker),), broker.epoch)


def _check_registration(image: Image, registration: Registration) -> None:
    if image.metadata_version >= DIRECTORIES:
        directories = registration.directories
        if not directories:
            raise InvalidRegistration("a broker without log directories")
        if any(map(is_reserved, directories)) or len(set(directories)) < len(directories):
            raise InvalidRegistration("ids of log directories that are reserved, or come twice")
        for other in image.brokers.values():
            shared = set(other.directories) & set(directories)
            if other.id != registration.broker_id and shared:
                raise InvalidRegistration(f"broker {other.id} has log directory {to_text(min(shared))} already")
    for name, level in image.features.items():
        least, most = registration.features.get(name, (0, 0))
        if not least <= level <= most:
            raise InvalidRegistration(f"{name} is at level {level}; the broker supports {least} to {most}")


def unfence(image: Image, broker_id: int, broker_epoch: int) -> Decision[None]:
    """The broker is ready. It leads what has no leader and what it led before, each in a new epoch.

    A new epoch, even for what it led before: it may have lost the end of a log when it crashed, and that is how
    consumers notice.
    """
    broker = check_epoch(image, broker_id, broker_epoch)
    if not broker.fenced:
        return Decision((), None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_CLEAR)
    return Decision((change, *_elections(image, broker_id)), None)


def _elections(image: Image, broker_id: int) -> Iterator[Message]:
    for topic in image.topics:
        for number, partition in topic.partitions.items():
            if partition.leader == broker_id:
                yield PartitionChangeRecord(partition_id=number, topic_id=topic.id, leader=broker_id)
            elif partition.leader == NO_LEADER and _may_lead(partition, broker_id):
                yield _election(topic.id, number, partition, broker_id)


def _may_lead(partition: Partition, broker_id: int) -> bool:
    if broker_id in partition.isr or broker_id in partition.eligible_leaders:
        return True
    return not partition.isr and not partition.eligible_leaders and broker_id in partition.last_known_eligible


def _election(topic_id: bytes, number: int, partition: Partition, broker_id: int) -> PartitionChangeRecord:
    """The broker becomes the leader, and with that it is in sync with itself."""
    in_sync = broker_id in partition.isr
    eligible = broker_id in partition.eligible_leaders
    others = tuple(each for each in partition.eligible_leaders if each != broker_id)
    return PartitionChangeRecord(
        partition_id=number,
        topic_id=topic_id,
        leader=broker_id,
        isr=None if in_sync else (broker_id,),
        leader_recovery_state=_UNCHANGED if in_sync or eligible else _RECOVERING,
        eligible_leader_replicas=others if eligible else None,
        last_known_elr=() if partition.last_known_eligible else None,
    )


def shut_down(image: Image, broker_id: int, broker_epoch: int) -> Decision[None]:
    """The last thing that a broker has written when it stops in order.

    It ends fenced: a controller that finds it in service would wait for its session to end before it comes back.
    """
    broker = check_epoch(image, broker_id, broker_epoch)
    leaving = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, in_controlled_shutdown=_SET
    )
    gone = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_SET)
    records = () if broker.in_controlled_shutdown else (leaving,)
    return Decision(records if broker.fenced else (*records, gone), None)


def fence(image: Image, broker_id: int, broker_epoch: int) -> Decision[None]:
    """The broker is gone."""
    broker = check_epoch(image, broker_id, broker_epoch)
    if broker.fenced:
        return Decision((), None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_SET)
    return Decision((change,), None)


def cordon(image: Image, broker_id: int, broker_epoch: int, directories: Sequence[bytes]) -> Decision[None]:
    """A broker tells which of its log directories take no new replicas."""
    broker = check_epoch(image, broker_id, broker_epoch)
    is_known = set(broker.cordoned_directories or ()) == set(directories)
    if is_known or image.metadata_version < CORDONED_DIRECTORIES:
        return Decision((), None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, cordoned_log_dirs=tuple(directories)
    )
    return Decision((change,), None)


def unregister(image: Image, broker_id: int) -> Decision[None]:
    """The broker is none of the cluster's any more: it leads nothing, and is in sync with nothing."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise BrokerNotRegistered(f"Broker ID {broker_id} is not currently registered")
    gone = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Decision((*_departures(image, broker_id), gone), None)


def _departures(image: Image, broker_id: int) -> Iterator[Message]:
    for topic in image.topics:
        for number, partition in topic.partitions.items():
            if broker_id in partition.isr:
                yield _departure(image, topic.id, number, partition, broker_id)


def _departure(
    image: Image, topic_id: bytes, number: int, partition: Partition, broker_id: int
) -> PartitionChangeRecord:
    """Without others in sync nobody leads, and it is remembered who could."""
    others = tuple(each for each in partition.isr if each != broker_id)
    active = [each for each in partition.replicas if each in others and image.brokers[each].active]
    leader = partition.leader if partition.leader != broker_id else next(iter(active), NO_LEADER)
    is_last = not others and image.has_eligible_leaders
    return PartitionChangeRecord(
        partition_id=number,
        topic_id=topic_id,
        leader=_AS_IT_IS if leader == partition.leader else leader,
        isr=others if others or is_last else None,
        eligible_leader_replicas=(*partition.eligible_leaders, broker_id) if is_last else None,
        last_known_elr=(broker_id,) if is_last else None,
    )


def check_epoch(image: Image, broker_id: int, broker_epoch: int) -> Broker:
    """A broker of an earlier life has no say."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise BrokerNotRegistered(f"Broker ID {broker_id} is not currently registered")
    if broker.epoch != broker_epoch:
        raise StaleBrokerEpoch(f"broker {broker_id} has epoch {broker.epoch}, not {broker_epoch}")
    return broker
