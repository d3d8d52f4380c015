"""CreateAcls: new access rules."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int8, int16, int32


class CreateAclsRequest(Message, key=30, versions=(1, 3), flexible=2):
    creations: tuple[AclCreation, ...]


class AclCreation(Struct):
    resource_type: int8
    resource_name: str
    resource_pattern_type: int8 = 3
    principal: str
    host: str
    operation: int8
    permission_type: int8


class CreateAclsResponse(Message, key=30, versions=(1, 3), flexible=2):
    throttle_time_ms: int32 = 0
    results: tuple[AclCreationResult, ...] = ()


class AclCreationResult(Struct):
    error_code: int16 = 0
    error_message: str | None = None
