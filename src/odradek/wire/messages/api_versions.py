"""ApiVersions: which APIs and versions a node serves, and the cluster's features."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class ApiVersionsRequest(Message, key=18, versions=(0, 4), flexible=3):
    client_software_name: str = field(default="", since=3, ignorable=True)
    client_software_version: str = field(default="", since=3, ignorable=True)


class ApiVersionsResponse(Message, key=18, versions=(0, 4), flexible=3):
    error_code: int16 = 0
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: int32 = field(default=0, since=1, ignorable=True)
    supported_features: tuple[SupportedFeatureKey, ...] = field(default=(), since=3, tag=0, ignorable=True)
    finalized_features_epoch: int64 = field(default=-1, since=3, tag=1, ignorable=True)
    finalized_features: tuple[FinalizedFeatureKey, ...] = field(default=(), since=3, tag=2, ignorable=True)
    zk_migration_ready: bool = field(default=False, since=3, tag=3, ignorable=True)


class ApiVersion(Struct):
    api_key: int16
    min_version: int16
    max_version: int16


class SupportedFeatureKey(Struct):
    name: str
    min_version: int16
    max_version: int16


class FinalizedFeatureKey(Struct):
    name: str
    max_version_level: int16
    min_version_level: int16
