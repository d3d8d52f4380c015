"""DescribeClientQuotas: quotas that match a filter."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, float64, int8, int16, int32


class DescribeClientQuotasRequest(Message, key=48, versions=(0, 1), flexible=1):
    components: tuple[ComponentData, ...]
    strict: bool


class ComponentData(Struct):
    entity_type: str
    match_type: int8
    match: str | None


class DescribeClientQuotasResponse(Message, key=48, versions=(0, 1), flexible=1):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    entries: tuple[EntryData, ...] | None = ()


class EntryData(Struct):
    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


class EntityData(Struct):
    entity_type: str
    entity_name: str | None


class ValueData(Struct):
    key: str
    value: float64
