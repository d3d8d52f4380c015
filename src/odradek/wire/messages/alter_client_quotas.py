"""AlterClientQuotas: sets and removes quotas."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, float64, int16, int32


class AlterClientQuotasRequest(Message, key=49, versions=(0, 1), flexible=1):
    entries: tuple[EntryData, ...]
    validate_only: bool


class EntryData(Struct):
    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]


class EntityData(Struct):
    entity_type: str
    entity_name: str | None


class OpData(Struct):
    key: str
    value: float64
    remove: bool


class AlterClientQuotasResponse(Message, key=49, versions=(0, 1), flexible=1):
    throttle_time_ms: int32 = 0
    entries: tuple[EntryResult, ...] = ()


class EntryResult(Struct):
    error_code: int16 = 0
    error_message: str | None = None
    entity: tuple[EntityData, ...]
