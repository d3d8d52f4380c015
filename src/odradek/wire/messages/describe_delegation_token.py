"""DescribeDelegationToken: the delegation tokens of owners."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class DescribeDelegationTokenRequest(Message, key=41, versions=(1, 3), flexible=2):
    owners: tuple[DescribeDelegationTokenOwner, ...] | None


class DescribeDelegationTokenOwner(Struct):
    principal_type: str
    principal_name: str


class DescribeDelegationTokenResponse(Message, key=41, versions=(1, 3), flexible=2):
    error_code: int16 = 0
    tokens: tuple[DescribedDelegationToken, ...] = ()
    throttle_time_ms: int32 = 0


class DescribedDelegationToken(Struct):
    principal_type: str
    principal_name: str
    token_requester_principal_type: str = field(default="", since=3)
    token_requester_principal_name: str = field(default="", since=3)
    issue_timestamp: int64
    expiry_timestamp: int64
    max_timestamp: int64
    token_id: str
    hmac: bytes
    renewers: tuple[DescribedDelegationTokenRenewer, ...]


class DescribedDelegationTokenRenewer(Struct):
    principal_type: str
    principal_name: str
