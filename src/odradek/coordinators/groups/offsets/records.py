"""Committed offsets as records of the coordinator's log."""

from odradek.coordinators.decision import Stored
from odradek.coordinators.groups.offsets.committed import Committed
from odradek.model.numbers import NO_TIMESTAMP
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue

_VERSION = 4
_VERSION_WITH_EXPIRY = 1
"""The only one that can tell when an offset expires. It knows neither the leader's epoch nor the topic's id."""


def commit_record(group_id: str, topic: str, partition: int, committed: Committed) -> Stored:
    return Stored(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition),
        OffsetCommitValue(
            offset=committed.offset,
            leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            commit_timestamp=committed.committed_ms,
            expire_timestamp=committed.expire_ms,
            topic_id=committed.topic_id,
        ),
        _VERSION if committed.expire_ms == NO_TIMESTAMP else _VERSION_WITH_EXPIRY,
    )


def tombstone(group_id: str, topic: str, partition: int) -> Stored:
    return Stored(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
