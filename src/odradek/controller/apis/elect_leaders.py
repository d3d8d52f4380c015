"""ElectLeaders."""

from collections.abc import Iterable

from odradek.controller import elections
from odradek.controller.context import Context
from odradek.controller.elections import Elected
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


def decide(image: Image, request: ElectLeadersRequest, context: Context) -> ControllerResult[ElectLeadersResponse]:
    """Without a list: all partitions, and of those only the ones that were elected, or could not be."""
    asked = request.topic_partitions
    wanted = None if asked is None else [(each.topic, each.partitions) for each in asked]
    result = elections.elect(image, request.election_type, wanted, context)
    if wanted is None:
        by_topic: dict[str, list[Elected]] = {topic.name: [] for topic in image.topics}
        for each in result.response:
            by_topic[each.topic].append(each)
        results = [_results(name, elected) for name, elected in by_topic.items()]
    else:
        left = iter(result.response)
        results = [_results(name, [next(left) for _ in numbers]) for name, numbers in wanted]
    return ControllerResult(result.records, ElectLeadersResponse(replica_election_results=tuple(results)))


def refuse(request: ElectLeadersRequest, error: BrokerError) -> ElectLeadersResponse:
    results = tuple(
        _results(each.topic, (Elected(each.topic, number, error) for number in each.partitions))
        for each in request.topic_partitions or ()
    )
    return ElectLeadersResponse(error_code=error.code, replica_election_results=results)


def _results(name: str, elected: Iterable[Elected]) -> ReplicaElectionResult:
    return ReplicaElectionResult(topic=name, partition_result=tuple(map(_result, elected)))


def _result(elected: Elected) -> PartitionResult:
    if elected.error is None:
        return PartitionResult(partition_id=elected.partition)
    return PartitionResult(
        partition_id=elected.partition, error_code=elected.error.code, error_message=str(elected.error)
    )
