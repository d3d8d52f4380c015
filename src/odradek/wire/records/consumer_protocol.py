"""What the members of classic consumer groups tell each other, in bytes that brokers pass on unread."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int32


class ConsumerProtocolSubscription(Message, versions=(0, 3)):
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: tuple[TopicPartition, ...] = field(default=(), since=1, ignorable=True)
    generation_id: int32 = field(default=-1, since=2, ignorable=True)
    rack_id: str | None = field(default=None, since=3, ignorable=True)


class TopicPartition(Struct):
    topic: str
    partitions: tuple[int32, ...]


class ConsumerProtocolAssignment(Message, versions=(0, 3)):
    assigned_partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None
