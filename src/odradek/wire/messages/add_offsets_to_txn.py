"""AddOffsetsToTxn: a group whose offsets a transaction is about to commit."""

from __future__ import annotations

from odradek.wire.schema import Message, int16, int32, int64


class AddOffsetsToTxnRequest(Message, key=25, versions=(0, 4), flexible=3):
    transactional_id: str
    producer_id: int64
    producer_epoch: int16
    group_id: str


class AddOffsetsToTxnResponse(Message, key=25, versions=(0, 4), flexible=3):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
