"""Metadata: brokers, topics and who leads which partition."""

from __future__ import annotations

from odradek.wire.schema import NO_UUID, Message, Struct, field, int16, int32, uuid


class MetadataRequest(Message, key=3, versions=(0, 13), flexible=9):
    topics: tuple[MetadataRequestTopic, ...] | None = field(default=(), nullable=1)
    allow_auto_topic_creation: bool = field(default=True, since=4)
    include_cluster_authorized_operations: bool = field(default=False, since=8, until=10)
    include_topic_authorized_operations: bool = field(default=False, since=8)


class MetadataRequestTopic(Struct):
    topic_id: uuid = field(default=NO_UUID, since=10, ignorable=True)
    name: str | None = field(default="", nullable=10)


class MetadataResponse(Message, key=3, versions=(0, 13), flexible=9):
    throttle_time_ms: int32 = field(default=0, since=3, ignorable=True)
    brokers: tuple[MetadataResponseBroker, ...] = ()
    cluster_id: str | None = field(default=None, since=2, ignorable=True)
    controller_id: int32 = field(default=-1, since=1, ignorable=True)
    topics: tuple[MetadataResponseTopic, ...] = ()
    cluster_authorized_operations: int32 = field(default=-(1 << 31), since=8, until=10)
    error_code: int16 = field(default=0, since=13, ignorable=True)


class MetadataResponseBroker(Struct):
    node_id: int32
    host: str
    port: int32
    rack: str | None = field(default=None, since=1, ignorable=True)


class MetadataResponseTopic(Struct):
    error_code: int16 = 0
    name: str | None = field(default="", nullable=12)
    topic_id: uuid = field(default=NO_UUID, since=10, ignorable=True)
    is_internal: bool = field(default=False, since=1, ignorable=True)
    partitions: tuple[MetadataResponsePartition, ...]
    topic_authorized_operations: int32 = field(default=-(1 << 31), since=8)


class MetadataResponsePartition(Struct):
    error_code: int16 = 0
    partition_index: int32
    leader_id: int32
    leader_epoch: int32 = field(default=-1, since=7, ignorable=True)
    replica_nodes: tuple[int32, ...]
    isr_nodes: tuple[int32, ...]
    offline_replicas: tuple[int32, ...] = field(default=(), since=5, ignorable=True)
