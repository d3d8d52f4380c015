"""GetTelemetrySubscriptions: which metrics of clients are wanted."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, int8, int16, int32, uuid


class GetTelemetrySubscriptionsRequest(Message, key=71, versions=(0, 0), flexible=0):
    client_instance_id: uuid


class GetTelemetrySubscriptionsResponse(Message, key=71, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    client_instance_id: uuid = NO_UUID
    subscription_id: int32 = 0
    accepted_compression_types: tuple[int8, ...] = ()
    push_interval_ms: int32 = 0
    telemetry_max_bytes: int32 = 0
    delta_temporality: bool = False
    requested_metrics: tuple[str, ...] = ()
