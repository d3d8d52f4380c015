"""DescribeAcls: access rules that match a filter."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32


class DescribeAclsRequest(Message, key=29, versions=(1, 3), flexible=2):
    resource_type_filter: int8
    resource_name_filter: str | None
    pattern_type_filter: int8 = 3
    principal_filter: str | None
    host_filter: str | None
    operation: int8
    permission_type: int8


class DescribeAclsResponse(Message, key=29, versions=(1, 3), flexible=2):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    resources: tuple[DescribeAclsResource, ...] = ()


class DescribeAclsResource(Struct):
    resource_type: int8
    resource_name: str
    pattern_type: int8 = 3
    acls: tuple[AclDescription, ...]


class AclDescription(Struct):
    principal: str
    host: str
    operation: int8
    permission_type: int8
