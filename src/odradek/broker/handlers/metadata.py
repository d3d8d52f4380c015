"""Metadata, versions 0 to 13: brokers, topics, and who leads which partition. Topics are not made on demand yet."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.internal_topics import INTERNAL_TOPICS
from odradek.metadata.image import NO_LEADER, Partition, Topic
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.schema import NO_UUID

VERSIONS = (0, 13)


class Metadata:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: MetadataRequest) -> MetadataResponse:
        broker = self._broker
        host, port = broker.address_for(call.connection)
        return MetadataResponse(
            brokers=(MetadataResponseBroker(node_id=broker.node_id, host=host, port=port),),
            cluster_id=broker.cluster_id,
            controller_id=broker.node_id,
            topics=self._topics(call, request),
        )

    def _topics(self, call: Call, request: MetadataRequest) -> tuple[MetadataResponseTopic, ...]:
        # No list asks for all topics; in version 0, which has no null, an empty one does.
        if request.topics is None or (call.version == 0 and not request.topics):
            return tuple(self._topic(topic) for topic in self._broker.image.topics)
        return tuple(self._asked(asked) for asked in request.topics)

    def _asked(self, asked: MetadataRequestTopic) -> MetadataResponseTopic:
        topics = self._broker.image.topics
        if asked.topic_id != NO_UUID:
            topic = topics.by_id(asked.topic_id)
            missing = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic = topics.get(asked.name or "")
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            return MetadataResponseTopic(error_code=missing, name=asked.name, topic_id=asked.topic_id, partitions=())
        return self._topic(topic)

    def _topic(self, topic: Topic) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=tuple(_partition(index, each) for index, each in sorted(topic.partitions.items())),
        )


def _partition(index: int, partition: Partition) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
    )
