"""InitProducerId: a producer id, and for a transactional id the end of what was left open."""

from __future__ import annotations

from odradek.wire.schema import Message, field, int16, int32, int64


class InitProducerIdRequest(Message, key=22, versions=(0, 6), flexible=2):
    transactional_id: str | None
    transaction_timeout_ms: int32
    producer_id: int64 = field(default=-1, since=3)
    producer_epoch: int16 = field(default=-1, since=3)
    enable_2pc: bool = field(default=False, since=6)
    keep_prepared_txn: bool = field(default=False, since=6)


class InitProducerIdResponse(Message, key=22, versions=(0, 6), flexible=2):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = -1
    producer_epoch: int16 = 0
    ongoing_txn_producer_id: int64 = field(default=-1, since=6)
    ongoing_txn_producer_epoch: int16 = field(default=-1, since=6)
