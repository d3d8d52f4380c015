"""What share groups have consumed, as records of `__share_group_state`."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64, uuid


class ShareSnapshotKey(Message, key=0, versions=(0, 0)):
    group_id: str
    topic_id: uuid
    partition: int32


class ShareSnapshotValue(Message, key=0, versions=(0, 0), flexible=0):
    snapshot_epoch: int32
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(default=-1, tag=0)
    create_timestamp: int64
    write_timestamp: int64
    state_batches: tuple[StateBatch, ...]


class StateBatch(Struct):
    first_offset: int64
    last_offset: int64
    delivery_state: int8
    delivery_count: int16


class ShareUpdateKey(Message, key=1, versions=(0, 0)):
    group_id: str
    topic_id: uuid
    partition: int32


class ShareUpdateValue(Message, key=1, versions=(0, 0), flexible=0):
    snapshot_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(default=-1, tag=0)
    state_batches: tuple[StateBatch, ...]
