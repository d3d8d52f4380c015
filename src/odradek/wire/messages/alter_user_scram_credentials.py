"""AlterUserScramCredentials: sets and removes SCRAM credentials."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32


class AlterUserScramCredentialsRequest(Message, key=51, versions=(0, 0), flexible=0):
    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]


class ScramCredentialDeletion(Struct):
    name: str
    mechanism: int8


class ScramCredentialUpsertion(Struct):
    name: str
    mechanism: int8
    iterations: int32
    salt: bytes
    salted_password: bytes


class AlterUserScramCredentialsResponse(Message, key=51, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    results: tuple[AlterUserScramCredentialsResult, ...] = ()


class AlterUserScramCredentialsResult(Struct):
    user: str
    error_code: int16 = 0
    error_message: str | None = None
