"""DescribeConfigs: settings of topics, brokers and other resources."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32


class DescribeConfigsRequest(Message, key=32, versions=(1, 4), flexible=4):
    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False
    include_documentation: bool = field(default=False, since=3)


class DescribeConfigsResource(Struct):
    resource_type: int8
    resource_name: str
    configuration_keys: tuple[str, ...] | None


class DescribeConfigsResponse(Message, key=32, versions=(1, 4), flexible=4):
    throttle_time_ms: int32 = 0
    results: tuple[DescribeConfigsResult, ...] = ()


class DescribeConfigsResult(Struct):
    error_code: int16 = 0
    error_message: str | None = None
    resource_type: int8
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...]


class DescribeConfigsResourceResult(Struct):
    name: str
    value: str | None
    read_only: bool
    config_source: int8 = -1
    is_sensitive: bool
    synonyms: tuple[DescribeConfigsSynonym, ...]
    config_type: int8 = field(default=0, since=3, ignorable=True)
    documentation: str | None = field(default="", since=3, ignorable=True)


class DescribeConfigsSynonym(Struct):
    name: str
    value: str | None
    source: int8
