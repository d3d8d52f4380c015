"""CreatePartitions, versions 0 to 3."""

from odradek.broker.call import Call
from odradek.controller import topics
from odradek.controller.topics import Grown, Growth
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

VERSIONS = (0, 3)


class CreatePartitions:
    def __init__(self, metadata: MetadataLog) -> None:
        self._metadata = metadata

    async def handle(self, _call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        growths = [_growth(topic) for topic in request.topics]
        try:
            grown = await self._metadata.perform(
                lambda image: topics.create_partitions(image, growths, validate_only=request.validate_only)
            )
        except BrokerError as error:
            grown = tuple(Grown(growth.name, error) for growth in growths)
        return CreatePartitionsResponse(results=tuple(map(_result, grown)))


def _growth(topic: CreatePartitionsTopic) -> Growth:
    assignments = None if topic.assignments is None else tuple(each.broker_ids for each in topic.assignments)
    return Growth(topic.name, topic.count, assignments)


def _result(grown: Grown) -> CreatePartitionsTopicResult:
    if grown.error is None:
        return CreatePartitionsTopicResult(name=grown.name)
    return CreatePartitionsTopicResult(name=grown.name, error_code=grown.error.code, error_message=str(grown.error))
