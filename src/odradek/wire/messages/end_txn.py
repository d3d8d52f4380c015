"""EndTxn: commits or aborts a transaction."""

from __future__ import annotations

from odradek.wire.schema import Message, field, int16, int32, int64


class EndTxnRequest(Message, key=26, versions=(0, 5), flexible=3):
    transactional_id: str
    producer_id: int64
    producer_epoch: int16
    committed: bool


class EndTxnResponse(Message, key=26, versions=(0, 5), flexible=3):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = field(default=-1, since=5, ignorable=True)
    producer_epoch: int16 = field(default=-1, since=5, ignorable=True)
