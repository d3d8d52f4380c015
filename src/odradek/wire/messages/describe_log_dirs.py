"""DescribeLogDirs: log directories of a broker and what lies in them."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class DescribeLogDirsRequest(Message, key=35, versions=(1, 5), flexible=2):
    topics: tuple[DescribableLogDirTopic, ...] | None


class DescribableLogDirTopic(Struct):
    topic: str
    partitions: tuple[int32, ...]


class DescribeLogDirsResponse(Message, key=35, versions=(1, 5), flexible=2):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=3, ignorable=True)
    results: tuple[DescribeLogDirsResult, ...] = ()


class DescribeLogDirsResult(Struct):
    error_code: int16 = 0
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...]
    total_bytes: int64 = field(default=-1, since=4, ignorable=True)
    usable_bytes: int64 = field(default=-1, since=4, ignorable=True)
    is_cordoned: bool = field(default=False, since=5, ignorable=True)


class DescribeLogDirsTopic(Struct):
    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


class DescribeLogDirsPartition(Struct):
    partition_index: int32
    partition_size: int64
    offset_lag: int64
    is_future_key: bool
