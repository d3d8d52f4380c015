"""ListOffsets, versions 1 to 11: by time, the ends of a partition, and the answers of a broker without tiering."""

from collections import Counter

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.partitions.partition import Partition
from odradek.controller.errors import InvalidRequest
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_LEADER_EPOCH, NO_OFFSET, NO_TIMESTAMP, TimestampMs
from odradek.storage.segments import FoundTime
from odradek.wire.apis import NEVER
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

VERSIONS = (1, 11)
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
_SINCE = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
"""The version from which a timestamp stands for something else; no other one below 0 does."""
_EPOCHS_SINCE = 4
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_CONSUMER = -1
"""As a replica."""
_NONE = FoundTime(NO_OFFSET, NO_TIMESTAMP, NO_LEADER_EPOCH)


class UnsupportedTimestamp(BrokerError):
    code = ErrorCode.UNSUPPORTED_VERSION


class ListOffsets:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """A partition comes once in the answer, however often it was named."""
        asked = [(topic.name, part) for topic in request.topics for part in topic.partitions]
        times = Counter((name, part.partition_index) for name, part in asked)
        found: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
        for name, part in asked:
            outcome: FoundTime | BrokerError
            if times[name, part.partition_index] > 1:
                outcome = InvalidRequest(f"{name}-{part.partition_index} is named more than once")
            else:
                outcome = self._find(call.version, request, name, part)
            found.setdefault(name, {})[part.partition_index] = _answer(call.version, part.partition_index, outcome)
        topics = tuple(
            ListOffsetsTopicResponse(name=name, partitions=tuple(parts.values())) for name, parts in found.items()
        )
        return ListOffsetsResponse(topics=topics)

    def _find(
        self, version: int, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
    ) -> FoundTime | BrokerError:
        committed = request.isolation_level == _READ_COMMITTED and request.replica_id == _CONSUMER
        try:
            if request.isolation_level not in (_READ_UNCOMMITTED, _READ_COMMITTED):
                raise BrokerError(f"there is no isolation level {request.isolation_level}")
            if asked.timestamp < 0 and version < _SINCE.get(asked.timestamp, NEVER):
                raise UnsupportedTimestamp(f"timestamp {asked.timestamp} means nothing in version {version}")
            partition = self._broker.partition(topic, asked.partition_index)
            partition.check_epoch(asked.current_leader_epoch)
            return _find(partition, asked.timestamp, committed=committed)
        except BrokerError as error:
            return error


def _answer(version: int, index: int, outcome: FoundTime | BrokerError) -> ListOffsetsPartitionResponse:
    if isinstance(outcome, BrokerError):
        return ListOffsetsPartitionResponse(partition_index=index, error_code=outcome.code)
    return ListOffsetsPartitionResponse(
        partition_index=index,
        timestamp=outcome.timestamp,
        offset=outcome.offset,
        leader_epoch=outcome.leader_epoch if version >= _EPOCHS_SINCE else NO_LEADER_EPOCH,
    )


def _find(partition: Partition, timestamp: int, *, committed: bool) -> FoundTime:
    log = partition.log
    end = log.last_stable_offset if committed else log.high_watermark
    if timestamp == LATEST:
        return FoundTime(end, NO_TIMESTAMP, partition.epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return FoundTime(log.start_offset, NO_TIMESTAMP, log.epochs.epoch_of(log.start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING):
        return _NONE  # nothing is tiered
    found = log.find_max_time() if timestamp == MAX_TIMESTAMP else log.find_time(TimestampMs(timestamp))
    return found if found is not None and found.offset < end else _NONE
