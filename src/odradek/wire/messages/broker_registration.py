"""BrokerRegistration: a broker enters the cluster."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64, uint16, uuid


class BrokerRegistrationRequest(Message, key=62, versions=(0, 4), flexible=0):
    broker_id: int32
    cluster_id: str
    incarnation_id: uuid
    listeners: tuple[Listener, ...]
    features: tuple[Feature, ...]
    rack: str | None
    is_migrating_zk_broker: bool = field(default=False, since=1)
    log_dirs: tuple[uuid, ...] = field(default=(), since=2, ignorable=True)
    previous_broker_epoch: int64 = field(default=-1, since=3, ignorable=True)


class Listener(Struct):
    name: str
    host: str
    port: uint16
    security_protocol: int16


class Feature(Struct):
    name: str
    min_supported_version: int16
    max_supported_version: int16


class BrokerRegistrationResponse(Message, key=62, versions=(0, 4), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    broker_epoch: int64 = -1
