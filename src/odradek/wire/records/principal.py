"""The principal of a client, in a request that is forwarded for it."""

from __future__ import annotations

from odradek.wire.schema import Message


class DefaultPrincipalData(Message, versions=(0, 0), flexible=0):
    type: str
    name: str
    token_authenticated: bool
