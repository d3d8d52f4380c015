"""Fetch, versions 4 to 18, for consumers.

No fetch sessions: every answer has session id 0, which tells the client to send whole requests, as Kafka does when it
has no room for another session. Followers are not served.
"""

from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.dispatch import LATER, Handled
from odradek.broker.partition import Partition
from odradek.broker.sending import PinnedSlice
from odradek.broker.waiting import WaitingFetch
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_OFFSET, Offset
from odradek.storage.segment import Slice
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

VERSIONS = (4, 18)
_READ_COMMITTED = 1


class _Read(NamedTuple):
    """What one partition has for a fetch."""

    asked: FetchPartition
    partition: Partition | None
    part: Slice | None
    error: BrokerError | None


class Fetch:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: FetchRequest) -> Handled:
        reads = self._read_all(request)
        have = sum(read.part.size for _, topic in reads for read in topic if read.part)
        failed = any(read.error for _, topic in reads for read in topic)
        if have >= request.min_bytes or failed or request.max_wait_ms <= 0 or not request.topics:
            return self._response(request, reads)
        partitions = [read.partition for _, topic in reads for read in topic if read.partition]

        def answer() -> None:
            call.connection.no_longer_when_closed(wait.cancel)
            if not call.connection.is_closed:
                call.respond(self._response(request, self._read_all(request)))

        wait = WaitingFetch(partitions, request.min_bytes - have, request.max_wait_ms, answer)
        call.connection.when_closed(wait.cancel)
        return LATER

    def _read_all(self, request: FetchRequest) -> list[tuple[FetchTopic, list[_Read]]]:
        """In the order that the client asked for, which turns from request to request so that none is left out."""
        room = request.max_bytes
        reads = []
        one_batch = True
        for topic in request.topics:
            found = []
            for asked in topic.partitions:
                read = self._read(topic, asked, request, room, one_batch=one_batch)
                if read.part is not None:
                    room = max(room - read.part.size, 0)
                    one_batch = False
                found.append(read)
            reads.append((topic, found))
        return reads

    def _read(
        self, topic: FetchTopic, asked: FetchPartition, request: FetchRequest, room: int, *, one_batch: bool
    ) -> _Read:
        partition = None
        try:
            name = topic.topic or self._broker.name_of(topic.topic_id)
            partition = self._broker.partition(name, asked.partition)
            partition.check_epoch(asked.current_leader_epoch)
            log = partition.log
            committed = request.isolation_level == _READ_COMMITTED
            until = log.last_stable_offset if committed else log.high_watermark
            size = min(room, asked.partition_max_bytes)
            part = log.read(Offset(asked.fetch_offset), size, until, one_batch=one_batch)
        except BrokerError as error:
            return _Read(asked, partition, None, error)
        return _Read(asked, partition, part, None)

    def _response(self, request: FetchRequest, reads: list[tuple[FetchTopic, list[_Read]]]) -> FetchResponse:
        committed = request.isolation_level == _READ_COMMITTED
        topics = tuple(
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=tuple(_partition_data(read, committed=committed) for read in found),
            )
            for topic, found in reads
        )
        return FetchResponse(responses=topics)


def _partition_data(read: _Read, *, committed: bool) -> PartitionData:
    if read.error is not None or read.partition is None:
        return PartitionData(
            partition_index=read.asked.partition,
            error_code=read.error.code if read.error else 0,
            high_watermark=NO_OFFSET,
            aborted_transactions=() if committed else None,
            records=b"",
        )
    log = read.partition.log
    stable = log.last_stable_offset
    aborted: tuple[AbortedTransaction, ...] | None = None
    if committed:
        found = log.aborted_txns(Offset(read.asked.fetch_offset), stable) if read.part else []
        aborted = tuple(AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in found)
    return PartitionData(
        partition_index=read.asked.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=stable,
        log_start_offset=log.start_offset,
        aborted_transactions=aborted,
        records=PinnedSlice(read.part) if read.part else b"",
    )
