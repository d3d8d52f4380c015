"""SaslAuthenticate: a step of a SASL exchange."""

from __future__ import annotations

from odradek.wire.schema import Message, field, int16, int64


class SaslAuthenticateRequest(Message, key=36, versions=(0, 2), flexible=2):
    auth_bytes: bytes


class SaslAuthenticateResponse(Message, key=36, versions=(0, 2), flexible=2):
    error_code: int16 = 0
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: int64 = field(default=0, since=1, ignorable=True)
