"""RenewDelegationToken: a later expiry for a delegation token."""

from __future__ import annotations

from odradek.wire.schema import Message, int16, int32, int64


class RenewDelegationTokenRequest(Message, key=39, versions=(1, 2), flexible=2):
    hmac: bytes
    renew_period_ms: int64


class RenewDelegationTokenResponse(Message, key=39, versions=(1, 2), flexible=2):
    error_code: int16 = 0
    expiry_timestamp_ms: int64 = 0
    throttle_time_ms: int32 = 0
