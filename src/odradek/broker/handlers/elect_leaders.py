"""ElectLeaders, versions 0 to 2."""

from odradek.broker.call import Call
from odradek.controller import elections
from odradek.controller.context import ContextOf
from odradek.controller.elections import Elected
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

VERSIONS = (0, 2)


class ElectLeaders:
    def __init__(self, metadata: MetadataLog, context: ContextOf) -> None:
        self._metadata = metadata
        self._context = context

    async def handle(self, _call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Without a list: all partitions, and of those only the ones that were elected, or could not be."""
        asked = request.topic_partitions
        wanted = None if asked is None else [(each.topic, each.partitions) for each in asked]
        try:
            elected = await self._metadata.perform(
                lambda image: elections.elect(image, request.election_type, wanted, self._context(image))
            )
        except BrokerError as error:
            return ElectLeadersResponse(error_code=error.code, replica_election_results=_refused(request, error))
        if wanted is None:
            names = [topic.name for topic in self._metadata.image.topics]
            return ElectLeadersResponse(replica_election_results=tuple(_of_topic(name, elected) for name in names))
        left = iter(elected)
        results = []
        for name, numbers in wanted:
            results.append(_results(name, [next(left) for _ in numbers]))
        return ElectLeadersResponse(replica_election_results=tuple(results))


def _of_topic(name: str, elected: tuple[Elected, ...]) -> ReplicaElectionResult:
    return _results(name, [each for each in elected if each.topic == name])


def _results(name: str, elected: list[Elected]) -> ReplicaElectionResult:
    return ReplicaElectionResult(topic=name, partition_result=tuple(map(_result, elected)))


def _result(elected: Elected) -> PartitionResult:
    if elected.error is None:
        return PartitionResult(partition_id=elected.partition)
    return PartitionResult(
        partition_id=elected.partition, error_code=elected.error.code, error_message=str(elected.error)
    )


def _refused(request: ElectLeadersRequest, error: BrokerError) -> tuple[ReplicaElectionResult, ...]:
    return tuple(
        ReplicaElectionResult(
            topic=each.topic,
            partition_result=tuple(
                PartitionResult(partition_id=number, error_code=error.code, error_message=str(error))
                for number in each.partitions
            ),
        )
        for each in request.topic_partitions or ()
    )
