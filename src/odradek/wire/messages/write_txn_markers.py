"""WriteTxnMarkers: a coordinator ends a transaction in its partitions."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32, int64


class WriteTxnMarkersRequest(Message, key=27, versions=(1, 2), flexible=1):
    markers: tuple[WritableTxnMarker, ...]


class WritableTxnMarker(Struct):
    producer_id: int64
    producer_epoch: int16
    transaction_result: bool
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: int32
    transaction_version: int8 = field(default=0, since=2, ignorable=True)


class WritableTxnMarkerTopic(Struct):
    name: str
    partition_indexes: tuple[int32, ...]


class WriteTxnMarkersResponse(Message, key=27, versions=(1, 2), flexible=1):
    markers: tuple[WritableTxnMarkerResult, ...] = ()


class WritableTxnMarkerResult(Struct):
    producer_id: int64
    topics: tuple[WritableTxnMarkerTopicResult, ...]


class WritableTxnMarkerTopicResult(Struct):
    name: str
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int32
    error_code: int16 = 0
