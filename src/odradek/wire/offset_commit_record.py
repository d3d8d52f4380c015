"""The record of a committed offset, written by hand: coordinators write more of these than of all others together.

Equal to what the codec makes of it. The key is of type 1, the value of version 4, with the topic's id as its one tagged
field.
"""

from struct import Struct

from odradek.records.varint import write_unsigned
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import NO_UUID

VERSION = 4
_GROUP = Struct(">hh")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_BEGIN = Struct(">hqi")
_TYPE = 1


def key(commit: OffsetCommitKey) -> bytes:
    group, topic = commit.group.encode(), commit.topic.encode()
    return b"".join(
        (_GROUP.pack(_TYPE, len(group)), group, _INT16.pack(len(topic)), topic, _INT32.pack(commit.partition))
    )


def value(commit: OffsetCommitValue) -> bytes:
    metadata = commit.metadata.encode()
    tagged = b"\0" if commit.topic_id == NO_UUID else b"\1\0\x10" + commit.topic_id
    return b"".join(
        (
            _BEGIN.pack(VERSION, commit.offset, commit.leader_epoch),
            write_unsigned(len(metadata) + 1),
            metadata,
            _INT64.pack(commit.commit_timestamp),
            tagged,
        )
    )
