"""ListOffsets, versions 1 to 11: by time, the ends of a partition, and the answers of a broker without tiering."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.partition import Partition
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_LEADER_EPOCH, NO_OFFSET, NO_TIMESTAMP, TimestampMs
from odradek.storage.segments import FoundTime
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

VERSIONS = (1, 11)
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
_READ_COMMITTED = 1
_NONE = FoundTime(NO_OFFSET, NO_TIMESTAMP, NO_LEADER_EPOCH)


class ListOffsets:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, _call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
        committed = request.isolation_level == _READ_COMMITTED
        topics = tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(self._find(topic.name, asked, committed=committed) for asked in topic.partitions),
            )
            for topic in request.topics
        )
        return ListOffsetsResponse(topics=topics)

    def _find(self, topic: str, asked: ListOffsetsPartition, *, committed: bool) -> ListOffsetsPartitionResponse:
        index = asked.partition_index
        try:
            partition = self._broker.partition(topic, index)
            partition.check_epoch(asked.current_leader_epoch)
            found = _find(partition, asked.timestamp, committed=committed)
        except BrokerError as error:
            return ListOffsetsPartitionResponse(partition_index=index, error_code=error.code)
        return ListOffsetsPartitionResponse(
            partition_index=index, timestamp=found.timestamp, offset=found.offset, leader_epoch=found.leader_epoch
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
