"""Envelope: a request that a broker forwards to the controller for a client."""

from __future__ import annotations

from odradek.wire.schema import Message, int16


class EnvelopeRequest(Message, key=58, versions=(0, 0), flexible=0):
    request_data: bytes
    request_principal: bytes | None
    client_host_address: bytes


class EnvelopeResponse(Message, key=58, versions=(0, 0), flexible=0):
    response_data: bytes | None = None
    error_code: int16 = 0
