"""AllocateProducerIds: a block of producer ids for a broker."""

from __future__ import annotations

from odradek.wire.schema import Message, int16, int32, int64


class AllocateProducerIdsRequest(Message, key=67, versions=(0, 0), flexible=0):
    broker_id: int32
    broker_epoch: int64 = -1


class AllocateProducerIdsResponse(Message, key=67, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id_start: int64 = 0
    producer_id_len: int32 = 0
