"""AlterPartitionReassignments."""

from itertools import islice

from odradek.controller import reassignments
from odradek.controller.context import Context
from odradek.controller.reassignments import Reassigned, Reassignment
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def decide(
    image: Image, request: AlterPartitionReassignmentsRequest, context: Context
) -> ControllerResult[AlterPartitionReassignmentsResponse]:
    if not request.topics:
        # The message, which nobody reads, is Kafka's.
        return ControllerResult((), AlterPartitionReassignmentsResponse(error_message=""))
    wanted = [
        Reassignment(topic.name, each.partition_index, each.replicas)
        for topic in request.topics
        for each in topic.partitions
    ]
    may_change = request.allow_replication_factor_change
    result = reassignments.alter(image, wanted, context, may_change_factor=may_change)
    left = iter(result.response)
    responses = tuple(
        ReassignableTopicResponse(name=topic.name, partitions=tuple(map(_result, islice(left, len(topic.partitions)))))
        for topic in request.topics
    )
    response = AlterPartitionReassignmentsResponse(allow_replication_factor_change=may_change, responses=responses)
    return ControllerResult(result.records, response)


def refuse(request: AlterPartitionReassignmentsRequest, error: BrokerError) -> AlterPartitionReassignmentsResponse:
    responses = tuple(
        ReassignableTopicResponse(
            name=topic.name,
            partitions=tuple(_result(Reassigned(topic.name, each.partition_index, error)) for each in topic.partitions),
        )
        for topic in request.topics
    )
    return AlterPartitionReassignmentsResponse(error_code=error.code, error_message=str(error), responses=responses)


def _result(outcome: Reassigned) -> ReassignablePartitionResponse:
    if outcome.error is None:
        return ReassignablePartitionResponse(partition_index=outcome.partition)
    return ReassignablePartitionResponse(
        partition_index=outcome.partition, error_code=outcome.error.code, error_message=str(outcome.error)
    )
