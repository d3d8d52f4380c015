"""Fetch, versions 4 to 18, for consumers: whole and within fetch sessions. Followers are not served."""

from itertools import groupby
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.dispatch import LATER, Handled
from odradek.broker.fetch_sessions import Context, FetchSessions, Found, Wanted
from odradek.broker.partition import Partition
from odradek.broker.sending import PinnedSlice
from odradek.broker.waiting import WaitingFetch
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_OFFSET, Offset
from odradek.storage.segment import Slice
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

VERSIONS = (4, 18)
_READ_COMMITTED = 1


class _Read(NamedTuple):
    """What one partition has for a fetch."""

    wanted: Wanted
    partition: Partition | None
    part: Slice | None
    error: BrokerError | None


class Fetch:
    def __init__(self, broker: Broker, sessions: FetchSessions) -> None:
        self._broker = broker
        self._sessions = sessions

    def handle(self, call: Call, request: FetchRequest) -> Handled:
        try:
            context = self._sessions.begin(request, call.version)
        except BrokerError as error:
            return FetchResponse(error_code=error.code)
        reads = self._read_all(context.wanted, request)
        have = sum(read.part.size for read in reads if read.part)
        failed = any(read.error for read in reads)
        if have >= request.min_bytes or failed or request.max_wait_ms <= 0 or not reads:
            return self._response(context, request, reads)
        partitions = [read.partition for read in reads if read.partition]

        def answer() -> None:
            call.connection.no_longer_when_closed(wait.cancel)
            if not call.connection.is_closed:
                call.respond(self._answer(context, request))

        wait = WaitingFetch(partitions, request.min_bytes - have, request.max_wait_ms, answer)
        call.connection.when_closed(wait.cancel)
        return LATER

    def _answer(self, context: Context, request: FetchRequest) -> FetchResponse:
        try:
            context.check()
        except BrokerError as error:
            return FetchResponse(error_code=error.code)
        return self._response(context, request, self._read_all(context.wanted, request))

    def _read_all(self, wanted: list[Wanted], request: FetchRequest) -> list[_Read]:
        """In the order that they are wanted in, which turns from request to request so that none is left out."""
        room = request.max_bytes
        reads = []
        one_batch = True
        for each in wanted:
            read = self._read(each, request, room, one_batch=one_batch)
            if read.part is not None:
                room = max(room - read.part.size, 0)
                one_batch = False
            reads.append(read)
        return reads

    def _read(self, wanted: Wanted, request: FetchRequest, room: int, *, one_batch: bool) -> _Read:
        partition = None
        place, asked = wanted
        try:
            name = place.topic or self._broker.name_of(place.topic_id)
            partition = self._broker.partition(name, place.partition)
            partition.check_epoch(asked.current_leader_epoch)
            log = partition.log
            committed = request.isolation_level == _READ_COMMITTED
            until = log.last_stable_offset if committed else log.high_watermark
            size = min(room, asked.partition_max_bytes)
            part = log.read(Offset(asked.fetch_offset), size, until, one_batch=one_batch)
        except BrokerError as error:
            return _Read(wanted, partition, None, error)
        return _Read(wanted, partition, part, None)

    def _response(self, context: Context, request: FetchRequest, reads: list[_Read]) -> FetchResponse:
        committed = request.isolation_level == _READ_COMMITTED
        found = [
            Found(read.wanted.place, _partition_data(read, committed=committed), read.part is not None)
            for read in reads
        ]
        session_id, told = context.conclude(found)
        topics = tuple(
            FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=tuple(each.data for each in group))
            for (topic, topic_id), group in groupby(told, lambda each: each.place[:2])
        )
        return FetchResponse(session_id=session_id, responses=topics)


def _partition_data(read: _Read, *, committed: bool) -> PartitionData:
    if read.error is not None or read.partition is None:
        return PartitionData(
            partition_index=read.wanted.place.partition,
            error_code=read.error.code if read.error else 0,
            high_watermark=NO_OFFSET,
            aborted_transactions=() if committed else None,
            records=b"",
        )
    log = read.partition.log
    stable = log.last_stable_offset
    aborted: tuple[AbortedTransaction, ...] | None = None
    if committed:
        found = log.aborted_txns(Offset(read.wanted.asked.fetch_offset), stable) if read.part else []
        aborted = tuple(AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in found)
    return PartitionData(
        partition_index=read.wanted.place.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=stable,
        log_start_offset=log.start_offset,
        aborted_transactions=aborted,
        records=PinnedSlice(read.part) if read.part else b"",
    )
