"""What records change in an image. A delta is made for some records, replays them, and is finished into a new image."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from odradek.metadata.draft import Draft, Inconsistent, TopicsDraft
from odradek.metadata.features import KRAFT_VERSION, METADATA_VERSION, METADATA_VERSION_LATEST, METADATA_VERSION_LEAST
from odradek.metadata.features import Levels as FeatureLevels
from odradek.metadata.image import (
    Broker,
    ConfigResource,
    Configs,
    Endpoint,
    Image,
    Position,
    QuotaKey,
    ResourceType,
    ScramKey,
)
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import ProducerId
from odradek.wire.records.metadata import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from odradek.wire.schema import Message

_CHANGES = {0: None, 1: True, -1: False}
"""How records say that a flag stays, is set, or is cleared."""


class Delta:
    def __init__(self, before: Image) -> None:
        self.before = before
        self.features = Draft(before.features)
        self.brokers = Draft(before.brokers)
        self.controllers = Draft(before.controllers)
        self.topics = TopicsDraft(before.topics)
        self.configs = Draft(before.configs.resources)
        self.quotas = Draft(before.quotas)
        self.next_producer_id = before.next_producer_id
        self.acls = Draft(before.acls)
        self.scram = Draft(before.scram)
        self.tokens = Draft(before.tokens)
        self.voters = before.voters

    def replay(self, record: Message) -> None:
        """Raises Inconsistent for a record that does not fit, UnsupportedVersion for one of a newer Kafka."""
        replay = _REPLAY.get(type(record))
        if replay is None:
            raise UnsupportedVersion(f"{type(record).__name__} has no place in an image")
        replay(self, record)

    def replay_control(self, record: Message) -> None:
        """A control record of the quorum. Raises UnsupportedVersion for one of a newer Kafka."""
        self.voters = self.voters.after(record)

    def finish(self, position: Position) -> Image:
        return Image(
            position=position,
            features=self.features.finish(),
            brokers=self.brokers.finish(),
            controllers=self.controllers.finish(),
            topics=self.topics.finish(),
            configs=Configs(self.configs.finish()) if self.configs.changed else self.before.configs,
            quotas=self.quotas.finish(),
            next_producer_id=self.next_producer_id,
            acls=self.acls.finish(),
            scram=self.scram.finish(),
            tokens=self.tokens.finish(),
            voters=self.voters,
        )

    # --- features

    def _feature(self, record: FeatureLevelRecord) -> None:
        if record.name == METADATA_VERSION:
            if not METADATA_VERSION_LEAST <= record.feature_level <= METADATA_VERSION_LATEST:
                raise UnsupportedVersion(
                    f"metadata.version {record.feature_level}, where {METADATA_VERSION_LEAST} to "
                    f"{METADATA_VERSION_LATEST} are supported"
                )
            self.features.put(record.name, record.feature_level)
        elif record.name == KRAFT_VERSION:
            return  # control records say it
        elif record.feature_level == 0:
            self.features.remove(record.name)
        else:
            self.features.put(record.name, record.feature_level)

    # --- brokers and controllers

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        broker = Broker(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints={each.name: Endpoint(each.host, each.port, each.security_protocol) for each in record.end_points},
            features={
                each.name: FeatureLevels(each.min_supported_version, each.max_supported_version)
                for each in record.features
            },
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            directories=record.log_dirs,
            cordoned_directories=record.cordoned_log_dirs,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
        )
        self.brokers.put(record.broker_id, broker)

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self.brokers.remove(record.broker_id)

    def _fence_broker(self, record: FenceBrokerRecord) -> None:
        self.brokers.put(record.id, replace(self._broker(record.id, record.epoch), fenced=True))

    def _unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self.brokers.put(record.id, replace(self._broker(record.id, record.epoch), fenced=False))

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch)
        fenced = _flag(record.fenced, broker.fenced)
        shutting_down = _flag(record.in_controlled_shutdown, broker.in_controlled_shutdown)
        cordoned = record.cordoned_log_dirs
        changed = replace(
            broker,
            fenced=fenced,
            in_controlled_shutdown=shutting_down,
            directories=record.log_dirs or broker.directories,
            cordoned_directories=broker.cordoned_directories if cordoned is None else cordoned,
        )
        if changed != broker:
            self.brokers.put(broker.id, changed)

    def _broker(self, broker_id: int, epoch: int) -> Broker:
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise Inconsistent(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise Inconsistent(f"broker {broker_id} has epoch {broker.epoch}, not {epoch}")
        return broker

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers.put(record.controller_id, record)

    # --- topics and configs

    def _topic(self, record: TopicRecord) -> None:
        self.topics.add(record.name, record.topic_id)

    def _partition(self, record: PartitionRecord) -> None:
        self.topics.put_partition(record)

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        self.topics.change_partition(record)

    def _clear_eligible_leaders(self, record: ClearElrRecord) -> None:
        self.topics.clear_eligible_leaders(record.topic_name)

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        self.configs.remove(ConfigResource(ResourceType.TOPIC, self.topics.remove(record.topic_id)))

    def _config(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        values = dict(self.configs.get(resource) or {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if values:
            self.configs.put(resource, values)
        else:
            self.configs.remove(resource)

    # --- the rest

    def _quota(self, record: ClientQuotaRecord) -> None:
        entity = sorted((each.entity_type, each.entity_name) for each in record.entity)
        key = QuotaKey(tuple(entity), record.key)
        if record.remove:
            self.quotas.remove(key)
        else:
            self.quotas.put(key, record)

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = ProducerId(record.next_producer_id)

    def _acl(self, record: AccessControlEntryRecord) -> None:
        self.acls.put(record.id, record)

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        if self.acls.get(record.id) is None:
            raise Inconsistent(f"there is no ACL with id {record.id.hex()} to remove")
        self.acls.remove(record.id)

    def _scram(self, record: UserScramCredentialRecord) -> None:
        self.scram.put(ScramKey(record.mechanism, record.name), record)

    def _remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        self.scram.remove(ScramKey(record.mechanism, record.name))

    def _token(self, record: DelegationTokenRecord) -> None:
        self.tokens.put(record.token_id, record)

    def _remove_token(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens.remove(record.token_id)

    def _nothing(self, record: Message) -> None:
        """Says nothing that an image holds."""


def _flag(change: int, before: bool) -> bool:
    if change not in _CHANGES:
        raise UnsupportedVersion(f"a broker's flag is changed by {change}, which has no meaning")
    after = _CHANGES[change]
    return before if after is None else after


_REPLAY: dict[type[Message], Callable[[Delta, Any], None]] = {
    RegisterBrokerRecord: Delta._register_broker,
    UnregisterBrokerRecord: Delta._unregister_broker,
    TopicRecord: Delta._topic,
    PartitionRecord: Delta._partition,
    ConfigRecord: Delta._config,
    PartitionChangeRecord: Delta._change_partition,
    FenceBrokerRecord: Delta._fence_broker,
    UnfenceBrokerRecord: Delta._unfence_broker,
    RemoveTopicRecord: Delta._remove_topic,
    DelegationTokenRecord: Delta._token,
    UserScramCredentialRecord: Delta._scram,
    FeatureLevelRecord: Delta._feature,
    ClientQuotaRecord: Delta._quota,
    ProducerIdsRecord: Delta._producer_ids,
    BrokerRegistrationChangeRecord: Delta._change_broker,
    AccessControlEntryRecord: Delta._acl,
    RemoveAccessControlEntryRecord: Delta._remove_acl,
    NoOpRecord: Delta._nothing,
    ZkMigrationStateRecord: Delta._nothing,
    RemoveUserScramCredentialRecord: Delta._remove_scram,
    RemoveDelegationTokenRecord: Delta._remove_token,
    RegisterControllerRecord: Delta._register_controller,
    ClearElrRecord: Delta._clear_eligible_leaders,
}
