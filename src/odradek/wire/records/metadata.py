"""The records of the metadata log, `__cluster_metadata-0`."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, float64, int8, int16, int32, int64, uint16, uuid


class RegisterBrokerRecord(Message, key=0, versions=(0, 4), flexible=0):
    broker_id: int32
    is_migrating_zk_broker: bool = field(default=False, since=2)
    incarnation_id: uuid
    broker_epoch: int64
    end_points: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    rack: str | None
    fenced: bool = True
    in_controlled_shutdown: bool = field(default=False, since=1)
    log_dirs: tuple[uuid, ...] = field(default=(), since=3, tag=0)
    cordoned_log_dirs: tuple[uuid, ...] | None = field(default=None, since=4, tag=1)


class BrokerEndpoint(Struct):
    name: str
    host: str
    port: uint16
    security_protocol: int16


class BrokerFeature(Struct):
    name: str
    min_supported_version: int16
    max_supported_version: int16


class UnregisterBrokerRecord(Message, key=1, versions=(0, 0), flexible=0):
    broker_id: int32
    broker_epoch: int64


class TopicRecord(Message, key=2, versions=(0, 0), flexible=0):
    name: str
    topic_id: uuid


class PartitionRecord(Message, key=3, versions=(0, 2), flexible=0):
    partition_id: int32 = -1
    topic_id: uuid
    replicas: tuple[int32, ...]
    isr: tuple[int32, ...]
    removing_replicas: tuple[int32, ...]
    adding_replicas: tuple[int32, ...]
    leader: int32 = -1
    leader_recovery_state: int8 = field(default=0, tag=0)
    leader_epoch: int32 = -1
    partition_epoch: int32 = -1
    directories: tuple[uuid, ...] = field(default=(), since=1)
    eligible_leader_replicas: tuple[int32, ...] | None = field(default=None, since=2, tag=1)
    last_known_elr: tuple[int32, ...] | None = field(default=None, since=2, tag=2)


class ConfigRecord(Message, key=4, versions=(0, 0), flexible=0):
    resource_type: int8
    resource_name: str
    name: str
    value: str | None


class PartitionChangeRecord(Message, key=5, versions=(0, 2), flexible=0):
    partition_id: int32 = -1
    topic_id: uuid
    isr: tuple[int32, ...] | None = field(default=None, tag=0)
    leader: int32 = field(default=-2, tag=1)
    replicas: tuple[int32, ...] | None = field(default=None, tag=2)
    removing_replicas: tuple[int32, ...] | None = field(default=None, tag=3)
    adding_replicas: tuple[int32, ...] | None = field(default=None, tag=4)
    leader_recovery_state: int8 = field(default=-1, tag=5)
    directories: tuple[uuid, ...] | None = field(default=None, since=1, tag=8)
    eligible_leader_replicas: tuple[int32, ...] | None = field(default=None, since=2, tag=6)
    last_known_elr: tuple[int32, ...] | None = field(default=None, since=2, tag=7)


class FenceBrokerRecord(Message, key=7, versions=(0, 0), flexible=0):
    id: int32
    epoch: int64


class UnfenceBrokerRecord(Message, key=8, versions=(0, 0), flexible=0):
    id: int32
    epoch: int64


class RemoveTopicRecord(Message, key=9, versions=(0, 0), flexible=0):
    topic_id: uuid


class DelegationTokenRecord(Message, key=10, versions=(0, 0), flexible=0):
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int64
    max_timestamp: int64
    expiration_timestamp: int64
    token_id: str


class UserScramCredentialRecord(Message, key=11, versions=(0, 0), flexible=0):
    name: str
    mechanism: int8
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int32


class FeatureLevelRecord(Message, key=12, versions=(0, 0), flexible=0):
    name: str
    feature_level: int16


class ClientQuotaRecord(Message, key=14, versions=(0, 0), flexible=0):
    entity: tuple[EntityData, ...]
    key: str
    value: float64
    remove: bool


class EntityData(Struct):
    entity_type: str
    entity_name: str | None


class ProducerIdsRecord(Message, key=15, versions=(0, 0), flexible=0):
    broker_id: int32
    broker_epoch: int64 = -1
    next_producer_id: int64


class BrokerRegistrationChangeRecord(Message, key=17, versions=(0, 3), flexible=0):
    broker_id: int32
    broker_epoch: int64
    fenced: int8 = field(default=0, tag=0)
    in_controlled_shutdown: int8 = field(default=0, since=1, tag=1)
    log_dirs: tuple[uuid, ...] = field(default=(), since=2, tag=2)
    cordoned_log_dirs: tuple[uuid, ...] | None = field(default=None, since=3, tag=3)


class AccessControlEntryRecord(Message, key=18, versions=(0, 0), flexible=0):
    id: uuid
    resource_type: int8
    resource_name: str
    pattern_type: int8
    principal: str
    host: str
    operation: int8
    permission_type: int8


class RemoveAccessControlEntryRecord(Message, key=19, versions=(0, 0), flexible=0):
    id: uuid


class NoOpRecord(Message, key=20, versions=(0, 0), flexible=0):
    pass


class ZkMigrationStateRecord(Message, key=21, versions=(0, 0), flexible=0):
    zk_migration_state: int8


class RemoveUserScramCredentialRecord(Message, key=22, versions=(0, 0), flexible=0):
    name: str
    mechanism: int8


class BeginTransactionRecord(Message, key=23, versions=(0, 0), flexible=0):
    name: str | None = field(default=None, tag=0)


class EndTransactionRecord(Message, key=24, versions=(0, 0), flexible=0):
    pass


class AbortTransactionRecord(Message, key=25, versions=(0, 0), flexible=0):
    reason: str | None = field(default=None, tag=0)


class RemoveDelegationTokenRecord(Message, key=26, versions=(0, 0), flexible=0):
    token_id: str


class RegisterControllerRecord(Message, key=27, versions=(0, 0), flexible=0):
    controller_id: int32
    incarnation_id: uuid
    zk_migration_ready: bool
    end_points: tuple[ControllerEndpoint, ...]
    features: tuple[ControllerFeature, ...]


class ControllerEndpoint(Struct):
    name: str
    host: str
    port: uint16
    security_protocol: int16


class ControllerFeature(Struct):
    name: str
    min_supported_version: int16
    max_supported_version: int16


class ClearElrRecord(Message, key=28, versions=(0, 0), flexible=0):
    topic_name: str
