"""OffsetForLeaderEpoch, versions 2 to 4: where an epoch of a partition's leader ended."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.model.errors import BrokerError
from odradek.model.numbers import LeaderEpoch
from odradek.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

VERSIONS = (2, 4)


class OffsetForLeaderEpoch:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, _call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        topics = tuple(
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=tuple(self._find(topic.topic, asked) for asked in topic.partitions)
            )
            for topic in request.topics
        )
        return OffsetForLeaderEpochResponse(topics=topics)

    def _find(self, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        try:
            partition = self._broker.partition(topic, asked.partition)
            partition.check_epoch(asked.current_leader_epoch)
        except BrokerError as error:
            return EpochEndOffset(partition=asked.partition, error_code=error.code)
        log = partition.log
        epoch, end = log.epochs.end_offset(LeaderEpoch(asked.leader_epoch), log.end_offset)
        return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end)
