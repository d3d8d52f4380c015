"""DescribeCluster: the nodes of the cluster."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int8, int16, int32


class DescribeClusterRequest(Message, key=60, versions=(0, 2), flexible=0):
    include_cluster_authorized_operations: bool
    endpoint_type: int8 = field(default=1, since=1)
    include_fenced_brokers: bool = field(default=False, since=2)


class DescribeClusterResponse(Message, key=60, versions=(0, 2), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    endpoint_type: int8 = field(default=1, since=1)
    cluster_id: str = ""
    controller_id: int32 = -1
    brokers: tuple[DescribeClusterBroker, ...] = ()
    cluster_authorized_operations: int32 = -(1 << 31)


class DescribeClusterBroker(Struct):
    broker_id: int32
    host: str
    port: int32
    rack: str | None = None
    is_fenced: bool = field(default=False, since=2)
