"""DescribeUserScramCredentials: which SCRAM credentials users have."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32


class DescribeUserScramCredentialsRequest(Message, key=50, versions=(0, 0), flexible=0):
    users: tuple[UserName, ...] | None


class UserName(Struct):
    name: str


class DescribeUserScramCredentialsResponse(Message, key=50, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    results: tuple[DescribeUserScramCredentialsResult, ...] = ()


class DescribeUserScramCredentialsResult(Struct):
    user: str
    error_code: int16 = 0
    error_message: str | None = None
    credential_infos: tuple[CredentialInfo, ...]


class CredentialInfo(Struct):
    mechanism: int8
    iterations: int32
