"""AlterPartitionReassignments, versions 0 to 1."""

from itertools import islice

from odradek.broker.call import Call
from odradek.controller import reassignments
from odradek.controller.context import ContextOf
from odradek.controller.reassignments import Reassigned, Reassignment
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

VERSIONS = (0, 1)


class AlterPartitionReassignments:
    def __init__(self, metadata: MetadataLog, context: ContextOf) -> None:
        self._metadata = metadata
        self._context = context

    async def handle(
        self, _call: Call, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse:
        if not request.topics:
            return AlterPartitionReassignmentsResponse(error_message="")  # which nobody reads; Kafka has it so
        wanted = [
            Reassignment(topic.name, each.partition_index, each.replicas)
            for topic in request.topics
            for each in topic.partitions
        ]
        may_change = request.allow_replication_factor_change
        outcomes = await self._metadata.perform(
            lambda image: reassignments.alter(image, wanted, self._context(image), may_change_factor=may_change)
        )
        left = iter(outcomes)
        return AlterPartitionReassignmentsResponse(
            allow_replication_factor_change=may_change,
            responses=tuple(
                ReassignableTopicResponse(
                    name=topic.name, partitions=tuple(map(_result, islice(left, len(topic.partitions))))
                )
                for topic in request.topics
            ),
        )


def _result(outcome: Reassigned) -> ReassignablePartitionResponse:
    if outcome.error is None:
        return ReassignablePartitionResponse(partition_index=outcome.partition)
    return ReassignablePartitionResponse(
        partition_index=outcome.partition, error_code=outcome.error.code, error_message=str(outcome.error)
    )
