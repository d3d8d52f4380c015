"""WriteTxnMarkers, versions 1 and 2: ends transactions in partitions that this node leads.

Coordinators of other nodes send it, and tools that end a transaction which its coordinator does not know any more.
"""

import asyncio
from collections.abc import Awaitable
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.markers import Marker, Markers
from odradek.coordinators.errors import CoordinatorLoading, CoordinatorNotAvailable, NotCoordinator
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
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
    place: TopicPartition
    code: ErrorCode
    unsynced: Log | None = None


class WriteTxnMarkers:
    def __init__(self, broker: Broker, markers: Markers) -> None:
        self._broker = broker
        self._markers = markers

    def handle(
        self, _call: Call, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse | Awaitable[WriteTxnMarkersResponse]:
        written = [
            self._write(asked, TopicPartition(topic.name, number))
            for asked in request.markers
            for topic in asked.topics
            for number in topic.partition_indexes
        ]
        if any(each.unsynced for each in written):
            return self._answer_when_synced(written)
        return _response(written)

    async def _answer_when_synced(self, written: list[_Written]) -> WriteTxnMarkersResponse:
        return _response(await asyncio.gather(*map(self._settle, written)))

    async def _settle(self, written: _Written) -> _Written:
        if written.unsynced is not None:
            try:
                await self._broker.flusher.settle(written.unsynced)
            except BrokerError as error:
                return written._replace(code=error.code)
        return written

    def _write(self, asked: WritableTxnMarker, place: TopicPartition) -> _Written:
        producer_id = ProducerId(asked.producer_id)
        if asked.producer_id < 0 or asked.producer_epoch < 0:
            # No batch of it can be read: Kafka finds that out when it builds one.
            return _Written(producer_id, place, ErrorCode.INVALID_REQUEST)
        marker = Marker(
            producer_id,
            asked.producer_epoch,
            asked.transaction_result,
            asked.coordinator_epoch,
            asked.transaction_version,
        )
        try:
            log = self._markers.write(place, marker)
        except _NO_GROUPS:
            return _Written(producer_id, place, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        except BrokerError as error:
            return _Written(producer_id, place, error.code)
        is_synced = log.end_offset - log.recovery_point < log.config.flush_messages
        return _Written(producer_id, place, ErrorCode.NONE, None if is_synced else log)


def _response(written: list[_Written]) -> WriteTxnMarkersResponse:
    """By producer: what is said of one partition twice counts as it was said last."""
    producers: dict[ProducerId, dict[TopicPartition, ErrorCode]] = {}
    for producer_id, place, code, _ in written:
        producers.setdefault(producer_id, {})[place] = code
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
