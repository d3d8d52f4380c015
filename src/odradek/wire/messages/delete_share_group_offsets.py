"""DeleteShareGroupOffsets: forgets where topics of a share group start."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, int16, int32, uuid


class DeleteShareGroupOffsetsRequest(Message, key=92, versions=(0, 0), flexible=0):
    group_id: str
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...]


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str


class DeleteShareGroupOffsetsResponse(Message, key=92, versions=(0, 0), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...] = ()


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str
    topic_id: uuid
    error_code: int16 = 0
    error_message: str | None = None
