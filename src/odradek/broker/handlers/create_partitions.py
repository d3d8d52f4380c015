"""CreatePartitions, versions 0 to 3."""

from odradek.broker.call import Call
from odradek.broker.quotas.mutations import MutationRates
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
from odradek.wire.schema import Message

VERSIONS = (0, 3)
_STRICT_SINCE = 3
"""Older clients do not know that a quota can refuse them: they are served, and wait."""


class CreatePartitions:
    def __init__(self, metadata: MetadataLog, mutations: MutationRates) -> None:
        self._metadata = metadata
        self._mutations = mutations

    async def handle(self, call: Call, request: CreatePartitionsRequest) -> Message:
        growths = [_growth(topic) for topic in request.topics]
        account = self._mutations.account(call, is_strict=call.version >= _STRICT_SINCE)
        try:
            grown = await self._metadata.perform(
                lambda image: topics.create_partitions(
                    image, growths, validate_only=request.validate_only, charge=account.charge
                )
            )
        except BrokerError as error:
            grown = tuple(Grown(growth.name, error) for growth in growths)
        return call.throttled(CreatePartitionsResponse(results=tuple(map(_result, grown))), account.wait_ms())


def _growth(topic: CreatePartitionsTopic) -> Growth:
    assignments = None if topic.assignments is None else tuple(each.broker_ids for each in topic.assignments)
    return Growth(topic.name, topic.count, assignments)


def _result(grown: Grown) -> CreatePartitionsTopicResult:
    if grown.error is None:
        return CreatePartitionsTopicResult(name=grown.name)
    return CreatePartitionsTopicResult(name=grown.name, error_code=grown.error.code, error_message=str(grown.error))
