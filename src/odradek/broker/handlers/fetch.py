"""Fetch, versions 4 to 18, for consumers: whole and within fetch sessions. No partition has followers yet."""

from itertools import groupby
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.dispatch import LATER, Handled
from odradek.broker.fetching.fetch_sessions import Context, FetchSessions, Found, RequestedPartition
from odradek.broker.fetching.pinned_slice import PinnedSlice
from odradek.broker.fetching.read_ahead import ReadAhead
from odradek.broker.fetching.waiting_fetch import Readable, WaitingFetch
from odradek.broker.late import answer_late
from odradek.broker.partitions.partition import Partition
from odradek.broker.quotas.byte_rates import ByteRates
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, FencedLeaderEpoch, NotLeaderOrFollower, OffsetOutOfRange
from odradek.model.numbers import NO_OFFSET, LeaderEpoch, Offset
from odradek.model.settings import INT_MAX
from odradek.process.files import NotCached
from odradek.storage.log import Log
from odradek.storage.segment import Slice
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from odradek.wire.schema import replace

VERSIONS = (4, 18)
_BY_ID_SINCE = 13
_LEADERS_SINCE = 16
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_STEPS_MAX = 20


class _Read(NamedTuple):
    """What one partition has for a fetch."""

    wanted: RequestedPartition
    partition: Partition | None
    part: Slice | None = None
    error: BrokerError | None = None
    diverging: EpochEndOffset | None = None
    """Where the epoch of the client's last record ended here, if its log went another way."""
    cold: NotCached | None = None
    """It has something, but that must be read from the disk first."""

    @property
    def is_urgent(self) -> bool:
        """Whether the client has to hear of it at once."""
        return self.error is not None or self.diverging is not None


class _Terms(NamedTuple):
    """What holds for all partitions of a fetch."""

    by_id: bool
    committed: bool
    cached: bool
    """What is not in memory is not waited for."""
    follower: int
    is_negative: bool

    @classmethod
    def of(cls, version: int, request: FetchRequest, *, cached: bool) -> "_Terms":
        return cls(
            version >= _BY_ID_SINCE,
            request.isolation_level == _READ_COMMITTED,
            cached,
            max(request.replica_id, request.replica_state.replica_id),
            request.max_bytes < 0,
        )

    def check(self, partition: Partition, asked: FetchPartition) -> None:
        if self.follower >= 0:
            raise NotLeaderOrFollower(f"broker {self.follower} is no follower of {partition.log.partition}")
        if self.is_negative or asked.partition_max_bytes < 0:
            raise BrokerError("a fetch of less than nothing")


class Fetch:
    def __init__(
        self, broker: Broker, sessions: FetchSessions, read_ahead: ReadAhead, rates: ByteRates, bytes_max: int = INT_MAX
    ) -> None:
        """`rates` are those that clients have a quota of; `bytes_max` is fetch.max.bytes."""
        self._broker = broker
        self._sessions = sessions
        self._read_ahead = read_ahead
        self._rates = rates
        self._bytes_max = bytes_max

    def handle(self, call: Call, request: FetchRequest) -> Handled:
        if request.isolation_level not in (_READ_UNCOMMITTED, _READ_COMMITTED):
            return _refusal(call.version, request)
        try:
            context = self._sessions.begin(request, call.version)
        except BrokerError as error:
            return FetchResponse(error_code=error.code)
        reads = self._read_all(call, context, request, cached=True)
        have = 0
        is_urgent = request.max_wait_ms <= 0 or not reads
        for read in reads:
            if read.part is not None:
                have += read.part.size
            elif read.cold is not None:
                return self._answer_from_disk(call, context, request, reads)
            elif read.is_urgent:
                is_urgent = True
        wanted = min(request.min_bytes, self._room(call, request))
        if have >= wanted or is_urgent:
            return self._response(call, context, request, reads)
        readables = [_readable(read.partition, request) for read in reads if read.partition]

        def answer() -> None:
            call.client.connection.no_longer_when_closed(wait.cancel)
            if not call.client.connection.is_closed:
                answer_late(call, lambda: self._answer(call, context, request))

        wait = WaitingFetch(readables, wanted - have, request.max_wait_ms, answer)
        call.client.connection.when_closed(wait.cancel)
        return LATER

    def _answer(self, call: Call, context: Context, request: FetchRequest) -> FetchResponse:
        """What is there now. Most likely it was just appended, so whether it is in memory is not asked."""
        try:
            context.check()
        except BrokerError as error:
            return FetchResponse(error_code=error.code)
        return self._response(call, context, request, self._read_all(call, context, request, cached=False))

    async def _answer_from_disk(
        self, call: Call, context: Context, request: FetchRequest, reads: list[_Read]
    ) -> FetchResponse | None:
        """Have it brought into memory first. One step may lead to the next: index, batch, what follows the batch."""
        for _ in range(_STEPS_MAX):
            await self._read_ahead([read.cold for read in reads if read.cold])
            if call.client.connection.is_closed:
                return None
            reads = self._read_all(call, context, request, cached=True)
            if not any(read.cold for read in reads):
                break
        # Where memory is so short that what was read is forgotten at once, the loop waits rather than never to answer.
        return self._answer(call, context, request)

    def _read_all(self, call: Call, context: Context, request: FetchRequest, *, cached: bool) -> list[_Read]:
        """In the order that they are wanted in, which turns from request to request so that none is left out."""
        terms = _Terms.of(call.version, request, cached=cached)
        room = self._room(call, request)
        reads = []
        one_batch = True
        for each in context.wanted:
            read = self._read(each, terms, room, one_batch=one_batch)
            if read.part is not None:
                room = max(room - read.part.size, 0)
                one_batch = False
            reads.append(read)
        return reads

    def _room(self, call: Call, request: FetchRequest) -> int:
        """How many bytes the answer may have."""
        most = self._rates.most_at_once(call) if self._rates.is_set else INT_MAX
        return min(request.max_bytes, self._bytes_max, most)

    def _read(self, wanted: RequestedPartition, terms: "_Terms", room: int, *, one_batch: bool) -> _Read:
        partition = None
        place, asked = wanted
        try:
            name = self._broker.name_of(place.topic_id) if terms.by_id else place.topic
            partition = self._broker.partition(name, place.partition)
            if asked.current_leader_epoch >= 0:
                partition.check_epoch(asked.current_leader_epoch)
            terms.check(partition, asked)
            log = partition.log
            if asked.last_fetched_epoch >= 0:
                diverging = _diverging(log, asked)
                if diverging is not None:
                    return _Read(wanted, partition, diverging=diverging)
            until = log.last_stable_offset if terms.committed else log.high_watermark
            size = min(room, asked.partition_max_bytes)
            part = log.read(Offset(asked.fetch_offset), size, until, one_batch=one_batch, cached=terms.cached)
        except BrokerError as error:
            return _Read(wanted, partition, error=error)
        except NotCached as cold:
            return _Read(wanted, partition, cold=cold)
        return _Read(wanted, partition, part)

    def _response(self, call: Call, context: Context, request: FetchRequest, reads: list[_Read]) -> FetchResponse:
        """Partitions that are not here come last. To a client that is over its quota nothing is told of any."""
        wait_ms = self._throttle(call, reads) if self._rates.is_set or call.times is not None else 0
        if wait_ms:
            return FetchResponse(throttle_time_ms=wait_ms, session_id=context.session_id)
        committed = request.isolation_level == _READ_COMMITTED
        found = [
            Found(read.wanted.place, self._data(call.version, read, committed=committed), read.part is not None)
            for read in sorted(reads, key=lambda read: read.partition is None)
        ]
        session_id, told = context.conclude(found)
        topics = tuple(
            FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=tuple(each.data for each in group))
            for (topic, topic_id), group in groupby(told, lambda each: each.place[:2])
        )
        return FetchResponse(session_id=session_id, responses=topics, node_endpoints=self._endpoints(call, reads))

    def _throttle(self, call: Call, reads: list[_Read]) -> int:
        """For how many ms, as its quotas ask for it with these records. They do not count then: they do not leave."""
        size = sum(read.part.size for read in reads if read.part is not None)
        for_time_ms = call.times.charge(call) if call.times is not None else 0
        wait_ms = max(for_time_ms, self._rates.charge(call, size))
        if wait_ms:
            self._rates.take_back(call, size)
            call.client.connection.mute(wait_ms)
        return wait_ms

    def _endpoints(self, call: Call, reads: list[_Read]) -> tuple[NodeEndpoint, ...]:
        """Where the leaders are that the answer names, for consumers. A follower knows."""
        if call.version < _LEADERS_SINCE or not any(isinstance(read.error, FencedLeaderEpoch) for read in reads):
            return ()
        host, port = call.client.advertised
        return (NodeEndpoint(node_id=self._broker.node_id, host=host, port=port),)

    def _data(self, version: int, read: _Read, *, committed: bool) -> PartitionData:
        if read.error is None and read.partition is not None:
            try:
                return _partition_data(read, read.partition, committed=committed)
            except BrokerError as error:  # what was aborted is read from files
                read = read._replace(error=error)
        leader = LeaderIdAndEpoch()
        if version >= _LEADERS_SINCE and read.partition and isinstance(read.error, _LEADER_IS_TOLD):
            leader = LeaderIdAndEpoch(leader_id=self._broker.node_id, leader_epoch=read.partition.epoch)
        return PartitionData(
            partition_index=read.wanted.place.partition,
            error_code=read.error.code if read.error else 0,
            high_watermark=NO_OFFSET,
            current_leader=leader,
            aborted_transactions=() if read.partition is None else None,
            records=b"",
        )


_LEADER_IS_TOLD = (NotLeaderOrFollower, FencedLeaderEpoch)


def _readable(partition: Partition, request: FetchRequest) -> Readable:
    return partition.stable if request.isolation_level == _READ_COMMITTED else partition.waiters


def _diverging(log: Log, asked: FetchPartition) -> EpochEndOffset | None:
    """A client that has records which are not in this log any more has to go back to where the two agree."""
    offset = Offset(asked.fetch_offset)
    epoch, end = log.epochs.end_offset(LeaderEpoch(asked.last_fetched_epoch), log.end_offset)
    if end < 0 or epoch < 0 or offset < log.start_offset:
        raise OffsetOutOfRange(offset, log.start_offset, log.high_watermark)
    if epoch < asked.last_fetched_epoch or end < offset:
        return EpochEndOffset(epoch=epoch, end_offset=end)
    return None


def _refusal(version: int, request: FetchRequest) -> FetchResponse:
    """Of a request with an isolation level that there is none of: Kafka has no better code for it."""
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    topics = tuple(
        FetchableTopicResponse(
            topic=topic.topic,
            partitions=tuple(
                PartitionData(
                    partition_index=each.partition,
                    error_code=code,
                    high_watermark=NO_OFFSET,
                    aborted_transactions=(),
                    records=b"",
                )
                for each in topic.partitions
            ),
        )
        for topic in request.topics
        if version < _BY_ID_SINCE
    )
    return FetchResponse(error_code=code, session_id=request.session_id, responses=topics)


def _partition_data(read: _Read, partition: Partition, *, committed: bool) -> PartitionData:
    log = partition.log
    stable = log.last_stable_offset
    aborted: tuple[AbortedTransaction, ...] | None = None
    if committed:
        found = log.aborted_in(read.part, Offset(read.wanted.asked.fetch_offset)) if read.part else []
        aborted = tuple(AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in found)
    data = PartitionData(
        partition_index=read.wanted.place.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=stable,
        log_start_offset=log.start_offset,
        aborted_transactions=aborted,
        records=PinnedSlice(read.part) if read.part else b"",
    )
    return data if read.diverging is None else replace(data, diverging_epoch=read.diverging)
