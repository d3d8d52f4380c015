"""AssignReplicasToDirs: a broker says in which of its log directories its replicas are."""

from itertools import islice

from odradek.controller import directories
from odradek.controller.context import Context
from odradek.controller.directories import Assigned, InDirectory
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryResult,
    PartitionResult,
    TopicResult,
)


def decide(
    image: Image, request: AssignReplicasToDirsRequest, _context: Context
) -> ControllerResult[AssignReplicasToDirsResponse]:
    wanted = [
        InDirectory(topic.topic_id, each.partition_index, directory.id)
        for directory in request.directories
        for topic in directory.topics
        for each in topic.partitions
    ]
    result = directories.assign(image, request.broker_id, request.broker_epoch, wanted)
    left = iter(result.response)
    results = tuple(
        DirectoryResult(
            id=directory.id,
            topics=tuple(
                TopicResult(
                    topic_id=topic.topic_id, partitions=tuple(map(_result, islice(left, len(topic.partitions))))
                )
                for topic in directory.topics
            ),
        )
        for directory in request.directories
    )
    return ControllerResult(result.records, AssignReplicasToDirsResponse(directories=results))


def refuse(_request: AssignReplicasToDirsRequest, error: BrokerError) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(error_code=error.code)


def _result(assigned: Assigned) -> PartitionResult:
    replica, error = assigned
    return PartitionResult(partition_index=replica.partition, error_code=error.code if error else 0)
