"""AlterPartition: the leader of a partition proposes new in-sync replicas."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64, uuid


class AlterPartitionRequest(Message, key=56, versions=(2, 3), flexible=0):
    broker_id: int32
    broker_epoch: int64 = -1
    topics: tuple[TopicData, ...]


class TopicData(Struct):
    topic_id: uuid
    partitions: tuple[PartitionData, ...]


class PartitionData(Struct):
    partition_index: int32
    leader_epoch: int32
    new_isr: tuple[int32, ...] = field(default=(), until=2)
    new_isr_with_epochs: tuple[BrokerState, ...] = field(default=(), since=3)
    leader_recovery_state: int8 = 0
    partition_epoch: int32


class BrokerState(Struct):
    broker_id: int32
    broker_epoch: int64 = -1


class AlterPartitionResponse(Message, key=56, versions=(2, 3), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: tuple[TopicResult, ...] = ()


class TopicResult(Struct):
    topic_id: uuid
    partitions: tuple[PartitionResult, ...]


class PartitionResult(Struct):
    partition_index: int32
    error_code: int16 = 0
    leader_id: int32
    leader_epoch: int32
    isr: tuple[int32, ...]
    leader_recovery_state: int8 = 0
    partition_epoch: int32
