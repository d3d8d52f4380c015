"""ListConfigResources: the resources that have settings."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32


class ListConfigResourcesRequest(Message, key=74, versions=(0, 1), flexible=0):
    resource_types: tuple[int8, ...] = field(default=(), since=1)


class ListConfigResourcesResponse(Message, key=74, versions=(0, 1), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    config_resources: tuple[ConfigResource, ...] = ()


class ConfigResource(Struct):
    resource_name: str
    resource_type: int8 = field(default=16, since=1, ignorable=True)
