"""ControllerRegistration: a controller says how to reach it and which features it knows."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, uint16, uuid


class ControllerRegistrationRequest(Message, key=70, versions=(0, 0), flexible=0):
    controller_id: int32
    incarnation_id: uuid
    zk_migration_ready: bool
    listeners: tuple[Listener, ...]
    features: tuple[Feature, ...]


class Listener(Struct):
    name: str
    host: str
    port: uint16
    security_protocol: int16


class Feature(Struct):
    name: str
    min_supported_version: int16
    max_supported_version: int16


class ControllerRegistrationResponse(Message, key=70, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
