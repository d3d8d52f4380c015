"""WriteTxnMarkers, versions 1 and 2: ends transactions in partitions that this node leads.

Coordinators of other nodes send it, and tools that end a transaction which its coordinator does not know any more.
"""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.broker.call import Call
from odradek.broker.coordination.markers import Marker, Markers
from odradek.broker.dispatch import LATER
from odradek.broker.late import answer_late
from odradek.coordinators.errors import CoordinatorLoading, CoordinatorNotAvailable, NotCoordinator
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.replication.waiters import Unsettled, Wait
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

VERSIONS = (1, 2)
_NO_GROUPS = (CoordinatorLoading, CoordinatorNotAvailable, NotCoordinator)


class _Written(NamedTuple):
    producer_id: ProducerId
    partition: TopicPartition
    code: ErrorCode
    unsettled: Unsettled | None = None


class WriteTxnMarkers:
    def __init__(self, markers: Markers) -> None:
        self._markers = markers

    def handle(self, call: Call, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse | object:
        written = [
            self._write(asked, TopicPartition(topic.name, number))
            for asked in request.markers
            for topic in asked.topics
            for number in topic.partition_indexes
        ]
        unsettled = {index: each.unsettled for index, each in enumerate(written) if each.unsettled is not None}
        if not unsettled:
            return _response(written)

        def answer(errors: Mapping[int, BrokerError]) -> None:
            for index, error in errors.items():
                written[index] = written[index]._replace(code=error.code)
            answer_late(call, lambda: _response(written))

        Wait(unsettled, answer)
        return LATER

    def _write(self, asked: WritableTxnMarker, partition: TopicPartition) -> _Written:
        producer_id = ProducerId(asked.producer_id)
        if asked.producer_id < 0 or asked.producer_epoch < 0:
            # No batch of it can be read: Kafka finds that out when it builds one.
            return _Written(producer_id, partition, ErrorCode.INVALID_REQUEST)
        marker = Marker(
            producer_id,
            asked.producer_epoch,
            asked.transaction_result,
            asked.coordinator_epoch,
            asked.transaction_version,
        )
        try:
            unsettled = self._markers.write(partition, marker)
        except _NO_GROUPS:
            return _Written(producer_id, partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        except BrokerError as error:
            return _Written(producer_id, partition, error.code)
        return _Written(producer_id, partition, ErrorCode.NONE, unsettled)


def _response(written: list[_Written]) -> WriteTxnMarkersResponse:
    """By producer: what is said of one partition twice counts as it was said last."""
    producers: dict[ProducerId, dict[TopicPartition, ErrorCode]] = {}
    for producer_id, partition, code, _ in written:
        producers.setdefault(producer_id, {})[partition] = code
    return WriteTxnMarkersResponse(
        markers=tuple(
            WritableTxnMarkerResult(producer_id=producer_id, topics=_topics(codes))
            for producer_id, codes in producers.items()
        )
    )


def _topics(codes: dict[TopicPartition, ErrorCode]) -> tuple[WritableTxnMarkerTopicResult, ...]:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for (topic, number), code in codes.items():
        result = WritableTxnMarkerPartitionResult(partition_index=number, error_code=code)
        topics.setdefault(topic, []).append(result)
    return tuple(WritableTxnMarkerTopicResult(name=name, partitions=tuple(results)) for name, results in topics.items())
