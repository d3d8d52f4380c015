"""DeleteTopics: topics by name or id."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, uuid


class DeleteTopicsRequest(Message, key=20, versions=(1, 6), flexible=4):
    topics: tuple[DeleteTopicState, ...] = field(default=(), since=6)
    topic_names: tuple[str, ...] = field(default=(), until=5, ignorable=True)
    timeout_ms: int32


class DeleteTopicState(Struct):
    name: str | None = None
    topic_id: uuid


class DeleteTopicsResponse(Message, key=20, versions=(1, 6), flexible=4):
    throttle_time_ms: int32 = 0
    responses: tuple[DeletableTopicResult, ...] = ()


class DeletableTopicResult(Struct):
    name: str | None = field(default="", nullable=6)
    topic_id: uuid = field(default=NO_UUID, since=6, ignorable=True)
    error_code: int16 = 0
    error_message: str | None = field(default=None, since=5, ignorable=True)
