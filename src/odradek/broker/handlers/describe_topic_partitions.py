"""DescribeTopicPartitions, version 0: topics by name, page by page."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.broker.operations import NOT_ASKED, TOPIC_OPERATIONS
from odradek.broker.settings.settings import Settings
from odradek.controller.errors import InvalidRequest
from odradek.controller.topic_names import check_name
from odradek.metadata.image import Partition, Topic
from odradek.model.errors import BrokerError, UnknownTopicOrPartition
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.wire.schema import NO_UUID

VERSIONS = (0, 0)


class DescribeTopicPartitions:
    def __init__(self, broker: Broker, settings: Settings) -> None:
        self._broker = broker
        self._settings = settings

    def handle(self, _call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
        try:
            names = self._names(request)
        except BrokerError as error:
            failed = tuple(_failure(each.name, error) for each in request.topics)
            return DescribeTopicPartitionsResponse(topics=failed)
        limit = self._settings.now(self._broker.image).max_request_partition_size_limit
        return self._page(names, request.cursor, max(1, min(limit, request.response_partition_limit)))

    def _names(self, request: DescribeTopicPartitionsRequest) -> list[str]:
        """In order, from the cursor on."""
        cursor = request.cursor
        asked = [each.name for each in request.topics] or list(self._broker.image.topics.names)
        if cursor is not None:
            if cursor.partition_index < 0:
                raise InvalidRequest(f"a cursor at partition {cursor.partition_index}")
            if request.topics and cursor.topic_name not in asked:
                raise InvalidRequest(f"the cursor is at {cursor.topic_name[:40]!r}, which was not asked for")
        return sorted({name for name in asked if cursor is None or name >= cursor.topic_name})

    def _page(self, names: list[str], cursor: Cursor | None, room: int) -> DescribeTopicPartitionsResponse:
        found: list[DescribeTopicPartitionsResponseTopic] = []
        for name in names:
            if room == 0:
                following = Cursor(topic_name=name, partition_index=0)
                return DescribeTopicPartitionsResponse(topics=tuple(found), next_cursor=following)
            first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
            topic = self._broker.image.topics.get(name)
            if topic is None:
                found.append(_missing(name))
                continue
            numbers = [number for number in sorted(topic.partitions) if number >= first]
            found.append(self._topic(topic, numbers[:room]))
            if len(numbers) > room:
                following = Cursor(topic_name=name, partition_index=numbers[room])
                return DescribeTopicPartitionsResponse(topics=tuple(found), next_cursor=following)
            room -= len(numbers)
        return DescribeTopicPartitionsResponse(topics=tuple(found))

    def _topic(self, topic: Topic, numbers: list[int]) -> DescribeTopicPartitionsResponseTopic:
        return DescribeTopicPartitionsResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=tuple(self._partition(topic.name, number, topic.partitions[number]) for number in numbers),
            topic_authorized_operations=TOPIC_OPERATIONS,
        )

    def _partition(self, topic: str, number: int, partition: Partition) -> DescribeTopicPartitionsResponsePartition:
        leader, error, isr, eligible, offline = self._broker.leadership(topic, number, partition)
        return DescribeTopicPartitionsResponsePartition(
            error_code=error,
            partition_index=number,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=isr,
            eligible_leader_replicas=eligible,
            last_known_elr=partition.last_known_eligible,
            offline_replicas=offline,
        )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    try:
        check_name(name)
        raise UnknownTopicOrPartition(name, None)
    except BrokerError as error:
        return _failure(name, error, TOPIC_OPERATIONS)


def _failure(name: str, error: BrokerError, operations: int = NOT_ASKED) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error.code,
        name=name,
        topic_id=NO_UUID,
        is_internal=name in INTERNAL_TOPICS,
        partitions=(),
        topic_authorized_operations=operations,
    )
