"""Brokers come and go: registering, taking up service, shutting down in order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from odradek.controller.context import Context
from odradek.controller.errors import BrokerNotRegistered, InvalidRegistration, StaleBrokerEpoch
from odradek.controller.partition_change import ChangingPartition, PartitionTarget, change
from odradek.controller.partitions import min_isr_of
from odradek.controller.result import ControllerResult
from odradek.metadata.features import CORDONED_DIRECTORIES, DIRECTORIES, METADATA_VERSION, SUPPORTED, Levels
from odradek.metadata.image import Broker, Endpoint, Image
from odradek.metadata.snapshot import register_broker_record
from odradek.metadata.uuids import is_reserved, to_text
from odradek.model.errors import UnsupportedVersion
from odradek.wire.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)
from odradek.wire.schema import Message

_SET = 1
_CLEAR = -1


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


def register(image: Image, registration: Registration, context: Context) -> ControllerResult[int]:
    """The response is the broker's epoch. It is fenced until it asks to be unfenced.

    The epoch is the offset that the records are going to have: a new one for a new incarnation. A broker that was not
    fenced before ended without a word: others lead what it led.
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
    leaving: Iterator[Message] = iter(())
    if known is not None and not same and known.active:
        leaving = _departures(_with(image, replace(known, fenced=True)), known.id, context)
    return ControllerResult((*leaving, register_broker_record(broker)), broker.epoch)


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
    if METADATA_VERSION not in registration.features:
        raise InvalidRegistration(f"a broker that does not say which levels of {METADATA_VERSION} it supports")
    for name, level in image.features.items():
        least, most = registration.features.get(name, (0, 0))
        if not least <= level <= most:
            raise UnsupportedVersion(f"{name} is at level {level}; the broker supports {least} to {most}")


def unfence(image: Image, broker_id: int, broker_epoch: int, context: Context) -> ControllerResult[None]:
    """The broker is ready. It leads what has no leader and what it led before, each in a new epoch.

    A new epoch, even for what it led before: it may have lost the end of a log when it crashed, and that is how
    consumers notice.
    """
    broker = check_epoch(image, broker_id, broker_epoch)
    if not broker.fenced:
        return ControllerResult((), None)
    record = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_CLEAR)
    after = _with(image, replace(broker, fenced=False))
    return ControllerResult((record, *_elections(after, broker_id, context)), None)


def _elections(image: Image, broker_id: int, context: Context) -> Iterator[Message]:
    """Of the partitions that no active broker leads, in an image in which the broker is active."""
    for topic, numbers in image.topics.on_broker(broker_id):
        min_isr = min_isr_of(image, topic, context)
        for number in numbers:
            partition = topic.partitions[number]
            if partition.leader == broker_id:
                yield PartitionChangeRecord(partition_id=number, topic_id=topic.id, leader=broker_id)
            elif not _is_active(image, partition.leader):
                record = change(
                    ChangingPartition(image, topic.id, number, partition, min_isr), PartitionTarget.unchanged(partition)
                )
                yield from () if record is None else (record,)


def _is_active(image: Image, broker_id: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active


def leads(image: Image, broker_id: int) -> bool:
    """Whether the broker leads any partition."""
    return any(
        topic.partitions[number].leader == broker_id
        for topic, numbers in image.topics.on_broker(broker_id)
        for number in numbers
    )


def has_others(image: Image, broker_id: int, context: Context) -> bool:
    """Whether any other broker could lead what this one leads."""
    return any(other.active and context.is_alive(other.id) for other in image.brokers.values() if other.id != broker_id)


def begin_shutdown(image: Image, broker_id: int, broker_epoch: int, context: Context) -> ControllerResult[None]:
    """Controlled shutdown: others lead what the broker led, and it is in sync with nothing."""
    broker = check_epoch(image, broker_id, broker_epoch)
    if broker.in_controlled_shutdown:
        return ControllerResult((), None)
    record = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, in_controlled_shutdown=_SET)
    after = _with(image, replace(broker, in_controlled_shutdown=True))
    return ControllerResult((record, *_departures(after, broker_id, context)), None)


def shut_down(image: Image, broker_id: int, broker_epoch: int, context: Context) -> ControllerResult[None]:
    """The last thing that a broker has written when it stops in order.

    It ends fenced: a controller that finds it in service would wait for its session to end before it comes back.
    """
    broker = check_epoch(image, broker_id, broker_epoch)
    leaving = begin_shutdown(image, broker_id, broker_epoch, context).records
    gone = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_SET)
    return ControllerResult(leaving if broker.fenced else (*leaving, gone), None)


def fence(image: Image, broker_id: int, broker_epoch: int, context: Context) -> ControllerResult[None]:
    """The broker is gone: others lead what it led."""
    broker = check_epoch(image, broker_id, broker_epoch)
    if broker.fenced:
        return ControllerResult((), None)
    record = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_SET)
    after = _with(image, replace(broker, fenced=True))
    return ControllerResult((*_departures(after, broker_id, context), record), None)


def cordon(image: Image, broker_id: int, broker_epoch: int, directories: Sequence[bytes]) -> ControllerResult[None]:
    """A broker tells which of its log directories take no new replicas."""
    broker = check_epoch(image, broker_id, broker_epoch)
    is_known = set(broker.cordoned_directories or ()) == set(directories)
    if is_known or image.metadata_version < CORDONED_DIRECTORIES:
        return ControllerResult((), None)
    record = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, cordoned_log_dirs=tuple(directories)
    )
    return ControllerResult((record,), None)


def unregister(image: Image, broker_id: int, context: Context) -> ControllerResult[None]:
    """The broker is none of the cluster's any more: it leads nothing, and is in sync with nothing."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise BrokerNotRegistered(f"Broker ID {broker_id} is not currently registered")
    gone = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    after = _with(image, replace(broker, fenced=True))
    return ControllerResult((*_out_of_isrs(after, broker_id, context), gone), None)


def _departures(image: Image, broker_id: int, context: Context) -> Iterator[Message]:
    """What the broker, which is not active any more in this image, leaves to others.

    Nothing where there are no others: the last broker of a cluster keeps what it leads. Nobody could lead it meanwhile,
    and `unfence` begins new epochs for whoever comes first.
    """
    if has_others(image, broker_id, context):
        yield from _out_of_isrs(image, broker_id, context)


def _out_of_isrs(image: Image, broker_id: int, context: Context) -> Iterator[Message]:
    for topic, numbers in image.topics.on_broker(broker_id):
        min_isr = min_isr_of(image, topic, context)
        for number in numbers:
            partition = topic.partitions[number]
            if broker_id in partition.isr:
                isr = tuple(each for each in partition.isr if each != broker_id)
                wanted = replace(PartitionTarget.unchanged(partition), isr=isr)
                record = change(ChangingPartition(image, topic.id, number, partition, min_isr), wanted)
                yield from () if record is None else (record,)


def _with(image: Image, broker: Broker) -> Image:
    """The image after a record about the broker: elections go by it."""
    return replace(image, brokers={**image.brokers, broker.id: broker})


def check_epoch(image: Image, broker_id: int, broker_epoch: int) -> Broker:
    """A broker of an earlier life has no say."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise StaleBrokerEpoch(f"Broker ID {broker_id} is not currently registered")
    if broker.epoch != broker_epoch:
        raise StaleBrokerEpoch(f"broker {broker_id} has epoch {broker.epoch}, not {broker_epoch}")
    return broker
