"""SaslHandshake: agrees on a SASL mechanism."""

from __future__ import annotations

from odradek.wire.schema import Message, int16


class SaslHandshakeRequest(Message, key=17, versions=(0, 1)):
    mechanism: str


class SaslHandshakeResponse(Message, key=17, versions=(0, 1)):
    error_code: int16 = 0
    mechanisms: tuple[str, ...] = ()
