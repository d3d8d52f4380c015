"""PushTelemetry: metrics of a client."""

from __future__ import annotations

from odradek.wire.schema import Message, int8, int16, int32, uuid


class PushTelemetryRequest(Message, key=72, versions=(0, 0), flexible=0):
    client_instance_id: uuid
    subscription_id: int32
    terminating: bool
    compression_type: int8
    metrics: bytes


class PushTelemetryResponse(Message, key=72, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
