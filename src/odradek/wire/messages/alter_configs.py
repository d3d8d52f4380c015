"""AlterConfigs: replaces all settings of resources."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32


class AlterConfigsRequest(Message, key=33, versions=(0, 2), flexible=2):
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


class AlterConfigsResource(Struct):
    resource_type: int8
    resource_name: str
    configs: tuple[AlterableConfig, ...]


class AlterableConfig(Struct):
    name: str
    value: str | None


class AlterConfigsResponse(Message, key=33, versions=(0, 2), flexible=2):
    throttle_time_ms: int32 = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()


class AlterConfigsResourceResponse(Struct):
    error_code: int16 = 0
    error_message: str | None = None
    resource_type: int8
    resource_name: str
