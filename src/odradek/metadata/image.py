"""The cluster's metadata at one moment. Nothing in it changes: a delta makes the next image, readers keep theirs.

Kinds of records that nobody serves yet are kept as they are, by their keys, so that snapshots lose nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from odradek.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS,
    GROUP_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_LEAST,
    TRANSACTION_VERSION,
    Levels,
)
from odradek.metadata.voters import STATIC, Voters
from odradek.model.numbers import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    LeaderEpoch,
    Offset,
    ProducerId,
    TimestampMs,
)
from odradek.wire.records.metadata import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    RegisterControllerRecord,
    UserScramCredentialRecord,
)

NO_LEADER = -1
UNCHANGED_LEADER = -2
"""In a change of a partition: nobody is elected. Any other leader, also the same one, begins a new leader epoch."""
UNCHANGED_STATE = -1
"""In a change of a partition: its leader recovery state stays."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


def _nothing() -> Mapping[Any, Any]:
    return _NOTHING


class ResourceType(IntEnum):
    """What a config belongs to."""

    TOPIC = 2
    BROKER = 4
    """By the broker's id as text; the empty name stands for all brokers."""
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    type: int
    name: str


class Position(NamedTuple):
    """How far an image has got."""

    offset: Offset = NO_OFFSET
    """Of the last record that it contains."""
    epoch: LeaderEpoch = NO_LEADER_EPOCH
    timestamp: TimestampMs = NO_TIMESTAMP
    """Of the batch that this record is in."""


NOWHERE = Position()


@dataclass(frozen=True, slots=True)
class Partition:
    leader: int
    leader_epoch: LeaderEpoch
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    directories: tuple[bytes, ...]
    """For each replica the id of its log directory, or one of the ids that stand for none."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    """1 where the leader was elected without being in sync, and has not yet said that it recovered."""
    eligible_leaders: tuple[int, ...] = ()
    """Replicas outside the ISR that have everything below the high watermark."""
    last_known_eligible: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    id: bytes
    partitions: Mapping[int, Partition]


def metric_name(topic: str) -> str | None:
    """None for a name without dots and underscores, which no other one can be taken for."""
    return topic.replace(".", "_") if "." in topic or "_" in topic else None


@dataclass(frozen=True, slots=True)
class Topics:
    names: Mapping[str, Topic] = field(default_factory=_nothing)
    ids: Mapping[bytes, Topic] = field(default_factory=_nothing)
    by_broker: Mapping[int, Mapping[bytes, tuple[int, ...]]] = field(default_factory=_nothing)
    """For each broker its replicas: ids of topics, and the numbers of their partitions."""
    by_metric_name: Mapping[str, str] = field(default_factory=_nothing)
    """Names with dots or underscores, by the name with underscores alone: metrics do not tell them apart."""

    def get(self, name: str) -> Topic | None:
        return self.names.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self.ids.get(topic_id)

    def on_broker(self, broker_id: int) -> Iterator[tuple[Topic, tuple[int, ...]]]:
        """Topics that have replicas on a broker, each with the numbers of their partitions."""
        for topic_id, numbers in self.by_broker.get(broker_id, _NOTHING).items():
            yield self.ids[topic_id], numbers

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.names.values())

    def __len__(self) -> int:
        return len(self.names)


class Endpoint(NamedTuple):
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as it registered, and what became of it since."""

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: Mapping[str, Endpoint]
    """By the name of the listener."""
    features: Mapping[str, Levels]
    rack: str | None = None
    fenced: bool = True
    """It is registered, but nobody may use it."""
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    """The ids of its log directories that are in service."""
    cordoned_directories: tuple[bytes, ...] | None = None
    """Those that take no new replicas; None where nothing is said of it."""
    is_migrating_zk_broker: bool = False

    @property
    def active(self) -> bool:
        """Whether it may lead."""
        return not (self.fenced or self.in_controlled_shutdown)

    @property
    def takes_replicas(self) -> bool:
        """Whether it has a log directory that is not cordoned, or nothing is known of its directories."""
        return not self.directories or bool(set(self.directories) - set(self.cordoned_directories or ()))


@dataclass(frozen=True, slots=True)
class Configs:
    """What was set, as text, and nothing of what is default."""

    resources: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=_nothing)

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Empty where nothing is set."""
        return self.resources.get(ConfigResource(resource_type, name), _NOTHING)


class QuotaKey(NamedTuple):
    entity: tuple[tuple[str, str | None], ...]
    """Types of entities with their names, ordered by type; None as a name stands for the default."""
    key: str


class ScramKey(NamedTuple):
    mechanism: int
    user: str


@dataclass(frozen=True, slots=True)
class Image:
    position: Position = NOWHERE
    features: Mapping[str, int] = field(default_factory=_nothing)
    brokers: Mapping[int, Broker] = field(default_factory=_nothing)
    controllers: Mapping[int, RegisterControllerRecord] = field(default_factory=_nothing)
    topics: Topics = field(default_factory=Topics)
    configs: Configs = field(default_factory=Configs)
    quotas: Mapping[QuotaKey, ClientQuotaRecord] = field(default_factory=_nothing)
    next_producer_id: ProducerId = NO_PRODUCER_ID
    """The first one of the next block; -1 where none was ever given away."""
    acls: Mapping[bytes, AccessControlEntryRecord] = field(default_factory=_nothing)
    scram: Mapping[ScramKey, UserScramCredentialRecord] = field(default_factory=_nothing)
    tokens: Mapping[str, DelegationTokenRecord] = field(default_factory=_nothing)
    voters: Voters = STATIC
    """Of the quorum, and kraft.version, which control records say."""

    @property
    def offset(self) -> Offset:
        """Of the last record that it contains."""
        return self.position.offset

    @property
    def epoch(self) -> LeaderEpoch:
        return self.position.epoch

    @property
    def end_offset(self) -> Offset:
        """Of the record that comes next."""
        return Offset(self.position.offset + 1)

    @property
    def metadata_version(self) -> int:
        """The least that Kafka 4.3 works with, as long as no record says anything else."""
        return self.features.get(METADATA_VERSION, METADATA_VERSION_LEAST)

    @property
    def has_eligible_leaders(self) -> bool:
        """Whether partitions keep eligible leaders outside the ISR."""
        return self.features.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0

    @property
    def has_consumer_protocol(self) -> bool:
        """Whether members of groups may leave it to the coordinator who reads what."""
        return self.features.get(GROUP_VERSION, 0) > 0

    @property
    def transaction_level(self) -> int:
        """Of transaction.version: from 2 on each transaction has an epoch of its own."""
        return self.features.get(TRANSACTION_VERSION, 0)


EMPTY = Image()
