"""Metadata, versions 0 to 13: brokers, topics, and who leads which partition.

A topic that is not there is made, where auto.create.topics.enable and the client allow it; until it is there, the
answer is UNKNOWN_TOPIC_OR_PARTITION, and the client asks again. Internal topics are not made on demand yet.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.broker.operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from odradek.broker.settings.settings import Settings
from odradek.broker.topics_on_demand import TopicsOnDemand
from odradek.controller.errors import InvalidRequest
from odradek.controller.topic_names import check_name
from odradek.metadata.image import Partition, Topic, Topics
from odradek.metadata.uuids import to_text
from odradek.model.errors import BrokerError, UnknownTopicId, UnknownTopicOrPartition
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.schema import NO_UUID

if TYPE_CHECKING:
    from odradek.model.topic_partition import TopicPartition

VERSIONS = (0, 13)
_BY_ID_SINCE = 12
_CLUSTER_OPERATIONS_UNTIL = 10


class Metadata:
    def __init__(self, broker: Broker, settings: Settings, on_demand: TopicsOnDemand) -> None:
        self._broker = broker
        self._settings = settings
        self._on_demand = on_demand
        self._all: tuple[Topics, frozenset[TopicPartition], int, tuple[MetadataResponseTopic, ...]]
        """The last answer about all topics, and what it was made of: many clients ask, and topics seldom change.

        All clients share it. Where not all may describe every topic, it holds for those alone who may.
        """
        self._all = (Topics(), frozenset(), NOT_ASKED, ())

    def handle(self, call: Call, request: MetadataRequest) -> MetadataResponse:
        broker = self._broker
        if call.version < _BY_ID_SINCE and any(map(_is_by_id, request.topics or ())):
            return _refusal(request, InvalidRequest(f"topics by id come with version {_BY_ID_SINCE}"))
        host, port = call.client.advertised
        me = MetadataResponseBroker(node_id=broker.node_id, host=host, port=port, rack=broker.rack)
        asked_for_cluster = request.include_cluster_authorized_operations and call.version <= _CLUSTER_OPERATIONS_UNTIL
        return MetadataResponse(
            brokers=(me,) if broker.is_registered else (),
            cluster_id=broker.cluster_id,
            controller_id=broker.node_id if broker.is_registered else -1,
            topics=self._topics(call, request),
            cluster_authorized_operations=CLUSTER_OPERATIONS if asked_for_cluster else NOT_ASKED,
        )

    def _topics(self, call: Call, request: MetadataRequest) -> tuple[MetadataResponseTopic, ...]:
        operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
        # No list asks for all topics; in version 0, which has no null, an empty one does.
        if request.topics is None or (call.version == 0 and not request.topics):
            return self._all_topics(operations)
        if any(each.topic_id != NO_UUID for each in request.topics):
            return self._by_id(request.topics, operations)
        names = list(dict.fromkeys(each.name or "" for each in request.topics))
        create = request.allow_auto_topic_creation
        return self._by_name(names, operations, makes_them_for=call if create else None)

    def _all_topics(self, operations: int) -> tuple[MetadataResponseTopic, ...]:
        topics, offline = self._broker.image.topics, self._broker.offline
        its_topics, its_offline, its_operations, answer = self._all
        if its_topics is not topics or its_offline is not offline or its_operations != operations:
            answer = tuple(self._topic(topic, operations) for topic in topics)
            self._all = (topics, offline, operations, answer)
        return answer

    def _by_id(self, asked: Sequence[MetadataRequestTopic], operations: int) -> tuple[MetadataResponseTopic, ...]:
        """Those that nobody knows come first."""
        found, missing = [], []
        for topic_id in dict.fromkeys(each.topic_id for each in asked if each.topic_id != NO_UUID):
            topic = self._broker.image.topics.by_id(topic_id)
            if topic is None:
                error = UnknownTopicId(f"This server does not host this topic ID: {to_text(topic_id)}")
                missing.append(_failure(None, topic_id, error, NOT_ASKED))
            else:
                found.append(self._topic(topic, operations))
        return (*missing, *found)

    def _by_name(
        self, names: list[str], operations: int, *, makes_them_for: Call | None
    ) -> tuple[MetadataResponseTopic, ...]:
        """Those that are not there come last, and may be made."""
        image = self._broker.image
        found, failed, missing = [], [], []
        for name in names:
            topic = image.topics.get(name)
            if topic is not None:
                found.append(self._topic(topic, operations))
                continue
            try:
                check_name(name)
                missing.append(name)
                raise UnknownTopicOrPartition(name, None)
            except BrokerError as error:
                failed.append(_failure(name, NO_UUID, error, operations))
        if missing and makes_them_for is not None and self._settings.now(image).auto_create_topics_enable:
            self._on_demand.ask_for(missing, makes_them_for)
        return (*found, *failed)

    def _topic(self, topic: Topic, operations: int) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=tuple(self._partition(topic.name, *each) for each in sorted(topic.partitions.items())),
            topic_authorized_operations=operations,
        )

    def _partition(self, topic: str, index: int, partition: Partition) -> MetadataResponsePartition:
        leader, error, isr, _, offline = self._broker.leadership(topic, index, partition)
        return MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=isr,
            offline_replicas=offline,
        )


def _is_by_id(asked: MetadataRequestTopic) -> bool:
    return asked.name is None or asked.topic_id != NO_UUID


def _refusal(request: MetadataRequest, error: BrokerError) -> MetadataResponse:
    """Of the request as a whole, with nothing of the cluster in it."""
    topics = tuple(_failure(each.name or "", each.topic_id, error, NOT_ASKED) for each in request.topics or ())
    return MetadataResponse(topics=topics, error_code=error.code)


def _failure(name: str | None, topic_id: bytes, error: BrokerError, operations: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error.code,
        name=name,
        topic_id=topic_id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=(),
        topic_authorized_operations=operations,
    )
