"""UpdateFeatures: raises or lowers the levels of features."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32


class UpdateFeaturesRequest(Message, key=57, versions=(0, 2), flexible=0):
    timeout_ms: int32 = 60000
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: bool = field(default=False, since=1)


class FeatureUpdateKey(Struct):
    feature: str
    max_version_level: int16
    allow_downgrade: bool = field(default=False, until=0)
    upgrade_type: int8 = field(default=1, since=1)


class UpdateFeaturesResponse(Message, key=57, versions=(0, 2), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    results: tuple[UpdatableFeatureResult, ...] = field(default=(), until=1, ignorable=True)


class UpdatableFeatureResult(Struct):
    feature: str
    error_code: int16 = 0
    error_message: str | None = None
