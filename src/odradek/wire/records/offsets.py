"""Committed offsets, as records of `__consumer_offsets`."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, field, int32, int64, uuid


class LegacyOffsetCommitKey(Message, key=0, versions=(0, 0)):
    group: str
    topic: str
    partition: int32


class LegacyOffsetCommitValue(Message, key=0, versions=(0, 0)):
    offset: int64
    metadata: str
    commit_timestamp: int64


class OffsetCommitKey(Message, key=1, versions=(0, 0)):
    group: str
    topic: str
    partition: int32


class OffsetCommitValue(Message, key=1, versions=(0, 4), flexible=4):
    offset: int64
    leader_epoch: int32 = field(default=-1, since=3, ignorable=True)
    metadata: str
    commit_timestamp: int64
    expire_timestamp: int64 = field(default=-1, since=1, until=1, ignorable=True)
    topic_id: uuid = field(default=NO_UUID, since=4, tag=0, ignorable=True)
