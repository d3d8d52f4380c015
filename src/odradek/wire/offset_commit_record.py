"""The record of a committed offset, written by hand: coordinators write more of these than of all others together.

Equal to what the codec makes of it. The key is of type 1, the value of version 4, with the topic's id as its one tagged
field.
"""

from struct import Struct

from odradek.records.varint import write_unsigned
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import NO_UUID, uuid

VERSION = 4
_GROUP = Struct(">hh")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_BEGIN = Struct(">hqi")
_TYPE = 1


def key(commit: OffsetCommitKey) -> bytes:
    return key_of(commit.group.encode(), commit.topic.encode(), commit.partition)


def value(commit: OffsetCommitValue) -> bytes:
    metadata = commit.metadata.encode()
    return value_of(commit.offset, commit.leader_epoch, metadata, commit.commit_timestamp, commit.topic_id)


def key_of(group: bytes, topic: bytes, partition: int) -> bytes:
    return b"".join((_GROUP.pack(_TYPE, len(group)), group, _INT16.pack(len(topic)), topic, _INT32.pack(partition)))


def value_of(offset: int, leader_epoch: int, metadata: bytes, committed_ms: int, topic_id: uuid) -> bytes:
    return b"".join(
        (
            _BEGIN.pack(VERSION, offset, leader_epoch),
            write_unsigned(len(metadata) + 1),
            metadata,
            _INT64.pack(committed_ms),
            b"\0" if topic_id == NO_UUID else b"\1\0\x10" + topic_id,
        )
    )
