"""ExpireDelegationToken: an earlier expiry for a delegation token."""

from __future__ import annotations

from odradek.wire.schema import Message, int16, int32, int64


class ExpireDelegationTokenRequest(Message, key=40, versions=(1, 2), flexible=2):
    hmac: bytes
    expiry_time_period_ms: int64


class ExpireDelegationTokenResponse(Message, key=40, versions=(1, 2), flexible=2):
    error_code: int16 = 0
    expiry_timestamp_ms: int64 = 0
    throttle_time_ms: int32 = 0
