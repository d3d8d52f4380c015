"""UnregisterBroker: removes a broker from the cluster."""

from __future__ import annotations

from odradek.wire.schema import Message, int16, int32


class UnregisterBrokerRequest(Message, key=64, versions=(0, 0), flexible=0):
    broker_id: int32


class UnregisterBrokerResponse(Message, key=64, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
