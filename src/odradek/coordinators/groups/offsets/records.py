"""Committed offsets as records of the coordinator's log."""

from odradek.coordinators.result import Stored
from odradek.metadata.image import Topic
from odradek.model.numbers import NO_TIMESTAMP, TimestampMs
from odradek.wire.messages.offset_commit import OffsetCommitRequestPartition
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue

_VERSION = 4
_VERSION_WITH_EXPIRY = 1
"""The only one that can tell when an offset expires. It knows neither the leader's epoch nor the topic's id."""


def commit_record(
    group_id: str, topic: Topic, asked: OffsetCommitRequestPartition, now: TimestampMs, expire: TimestampMs
) -> Stored:
    """`expire` is -1 where the client does not say when the offset is out of use."""
    return Stored(
        OffsetCommitKey(group=group_id, topic=topic.name, partition=asked.partition_index),
        OffsetCommitValue(
            offset=asked.committed_offset,
            leader_epoch=asked.committed_leader_epoch,
            metadata=asked.committed_metadata or "",
            commit_timestamp=now,
            expire_timestamp=expire,
            topic_id=topic.id,
        ),
        _VERSION if expire == NO_TIMESTAMP else _VERSION_WITH_EXPIRY,
    )


def pending_record(group_id: str, topic: str, asked: TxnOffsetCommitRequestPartition, now: TimestampMs) -> Stored:
    """Within a transaction. Kafka does not say the topic's id there."""
    return Stored(
        OffsetCommitKey(group=group_id, topic=topic, partition=asked.partition_index),
        OffsetCommitValue(
            offset=asked.committed_offset,
            leader_epoch=asked.committed_leader_epoch,
            metadata=asked.committed_metadata or "",
            commit_timestamp=now,
        ),
        _VERSION,
    )


def tombstone(group_id: str, topic: str, partition: int) -> Stored:
    return Stored(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
