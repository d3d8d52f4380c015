"""A committed offset, and how it is kept: packed, since a broker keeps very many of them and seldom looks at one.

    0  offset int64         12  commit timestamp int64   28  offset of the record int64   52  metadata, UTF-8
    8  leader epoch int32   20  expire timestamp int64   36  topic id, 16 bytes

Nothing but this process reads it: in the log it is a record.
"""

from struct import Struct
from typing import NamedTuple

from odradek.model.numbers import NO_LEADER_EPOCH, NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs
from odradek.wire.records.offsets import LegacyOffsetCommitValue, OffsetCommitValue
from odradek.wire.schema import NO_UUID, uuid

_FIXED = Struct(">qiqqq16s")


class Committed(NamedTuple):
    offset: Offset
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH
    """Of the last record that was consumed."""
    committed_ms: TimestampMs = NO_TIMESTAMP
    expire_ms: TimestampMs = NO_TIMESTAMP
    """When it is out of use, whatever else holds: said by clients before version 5. -1 if it was not said."""
    record_offset: Offset = Offset(-1)
    """Where it is in the coordinator's log."""
    topic_id: uuid = NO_UUID
    """Zeros if the one who committed it did not know."""
    metadata: str = ""


def pack(committed: Committed) -> bytes:
    return _FIXED.pack(*committed[:-1]) + committed.metadata.encode()


def pack_single(
    offset: int, leader_epoch: int, committed_ms: TimestampMs, record_offset: Offset, topic_id: uuid, metadata: bytes
) -> bytes:
    """One that expires when nobody uses it."""
    return _FIXED.pack(offset, leader_epoch, committed_ms, NO_TIMESTAMP, record_offset, topic_id) + metadata


def pack_value(value: OffsetCommitValue, record_offset: Offset) -> bytes:
    """What a record at this offset says."""
    fixed = _FIXED.pack(
        value.offset,
        value.leader_epoch,
        value.commit_timestamp,
        value.expire_timestamp,
        record_offset,
        value.topic_id,
    )
    return fixed + value.metadata.encode() if value.metadata else fixed


def pack_legacy(value: LegacyOffsetCommitValue, record_offset: Offset) -> bytes:
    """The same for a record of the oldest form."""
    committed_ms = TimestampMs(value.commit_timestamp)
    return pack(
        Committed(Offset(value.offset), committed_ms=committed_ms, record_offset=record_offset, metadata=value.metadata)
    )


def unpack(packed: bytes) -> Committed:
    metadata = str(packed[_FIXED.size :], "utf-8") if len(packed) > _FIXED.size else ""
    return Committed._make((*_FIXED.unpack_from(packed), metadata))
