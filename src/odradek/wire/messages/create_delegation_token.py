"""CreateDelegationToken: a new delegation token."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class CreateDelegationTokenRequest(Message, key=38, versions=(1, 3), flexible=2):
    owner_principal_type: str | None = field(default="", since=3)
    owner_principal_name: str | None = field(default="", since=3)
    renewers: tuple[CreatableRenewers, ...]
    max_lifetime_ms: int64


class CreatableRenewers(Struct):
    principal_type: str
    principal_name: str


class CreateDelegationTokenResponse(Message, key=38, versions=(1, 3), flexible=2):
    error_code: int16 = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = field(default="", since=3)
    token_requester_principal_name: str = field(default="", since=3)
    issue_timestamp_ms: int64 = 0
    expiry_timestamp_ms: int64 = 0
    max_timestamp_ms: int64 = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int32 = 0
