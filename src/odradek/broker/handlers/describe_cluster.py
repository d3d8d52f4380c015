"""DescribeCluster, versions 0 to 2."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

VERSIONS = (0, 2)


class DescribeCluster:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
        host, port = self._broker.address_for(call.connection)
        return DescribeClusterResponse(
            endpoint_type=request.endpoint_type,
            cluster_id=self._broker.cluster_id,
            controller_id=self._broker.node_id,
            brokers=(DescribeClusterBroker(broker_id=self._broker.node_id, host=host, port=port),),
        )
