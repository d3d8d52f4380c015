"""DescribeCluster, versions 0 to 2, for brokers; it does not answer for controllers."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.operations import CLUSTER_OPERATIONS, NOT_ASKED
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

VERSIONS = (0, 2)
_BROKERS, _CONTROLLERS = 1, 2


class DescribeCluster:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
        if request.endpoint_type == _CONTROLLERS:
            return _refusal(
                ErrorCode.MISMATCHED_ENDPOINT_TYPE,
                "This is an endpoint of type BROKER, and the request is for an endpoint of type CONTROLLER",
            )
        if request.endpoint_type != _BROKERS:
            return _refusal(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}")
        is_registered = self._broker.is_registered
        others = self._out_of_service() if request.include_fenced_brokers else ()
        return DescribeClusterResponse(
            endpoint_type=request.endpoint_type,
            cluster_id=self._broker.cluster_id,
            controller_id=self._broker.node_id if is_registered else -1,
            brokers=(self._me(call), *others) if is_registered else others,
            cluster_authorized_operations=CLUSTER_OPERATIONS
            if request.include_cluster_authorized_operations
            else NOT_ASKED,
        )

    def _me(self, call: Call) -> DescribeClusterBroker:
        host, port = call.client.advertised
        return DescribeClusterBroker(broker_id=self._broker.node_id, host=host, port=port, rack=self._broker.rack)

    def _out_of_service(self) -> tuple[DescribeClusterBroker, ...]:
        """Brokers that are registered, of a time when there were several."""
        found = []
        for each in self._broker.image.brokers.values():
            if each.id != self._broker.node_id and each.endpoints:
                host, port, _ = next(iter(each.endpoints.values()))
                found.append(
                    DescribeClusterBroker(broker_id=each.id, host=host, port=port, rack=each.rack, is_fenced=True)
                )
        return tuple(found)


def _refusal(code: ErrorCode, why: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=why, cluster_id="", brokers=())
