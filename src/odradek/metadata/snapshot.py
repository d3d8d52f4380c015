"""An image as records: replayed from nothing, they give the same image. The order of kinds is Kafka's."""

from collections.abc import Iterator

from odradek.metadata.features import (
    CONTROLLER_REGISTRATION,
    DELEGATION_TOKENS,
    DIRECTORIES,
    METADATA_VERSION,
    SCRAM,
)
from odradek.metadata.image import Broker, Image, Partition, Topic
from odradek.wire.records.metadata import (
    BrokerEndpoint,
    BrokerFeature,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from odradek.wire.schema import Message


def records_of(image: Image) -> Iterator[Message]:
    level = image.metadata_version
    yield from feature_records(image)
    for broker in image.brokers.values():
        yield register_broker_record(broker)
    if level >= CONTROLLER_REGISTRATION:
        yield from image.controllers.values()
    for topic in image.topics:
        yield from topic_records(topic, level)
    yield from config_records(image)
    yield from image.quotas.values()
    if image.next_producer_id >= 0:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    yield from image.acls.values()
    if level >= SCRAM:
        yield from image.scram.values()
    if level >= DELEGATION_TOKENS:
        yield from image.tokens.values()


def feature_records(image: Image) -> Iterator[FeatureLevelRecord]:
    """metadata.version comes before the others: it says what may follow."""
    for name in sorted(image.features, key=lambda name: name != METADATA_VERSION):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])


def config_records(image: Image) -> Iterator[ConfigRecord]:
    for resource, values in image.configs.resources.items():
        for name, value in values.items():
            yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)


def topic_records(topic: Topic, metadata_version: int) -> Iterator[Message]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for number, partition in topic.partitions.items():
        yield partition_record(topic.id, number, partition, metadata_version)


def partition_record(topic_id: bytes, number: int, partition: Partition, metadata_version: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing,
        adding_replicas=partition.adding,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories if metadata_version >= DIRECTORIES else (),
        eligible_leader_replicas=partition.eligible_leaders or None,
        last_known_elr=partition.last_known_eligible or None,
    )


def register_broker_record(broker: Broker) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=tuple(
            BrokerEndpoint(name=name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for name, each in broker.endpoints.items()
        ),
        features=tuple(
            BrokerFeature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in broker.features.items()
        ),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories,
        cordoned_log_dirs=broker.cordoned_directories,
    )
