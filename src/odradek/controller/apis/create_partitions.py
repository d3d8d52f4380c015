"""CreatePartitions."""

from odradek.controller import topics
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.controller.topics import Grown, Growth
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

STRICT_SINCE = 3
"""Older clients do not know that a quota can refuse them: they are served, and wait."""


def decide(
    image: Image, request: CreatePartitionsRequest, context: Context
) -> ControllerResult[CreatePartitionsResponse]:
    growths = [_growth(topic) for topic in request.topics]
    result = topics.create_partitions(image, growths, validate_only=request.validate_only, charge=context.charge)
    return ControllerResult(result.records, CreatePartitionsResponse(results=tuple(map(_result, result.response))))


def refuse(request: CreatePartitionsRequest, error: BrokerError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(results=tuple(_result(Grown(topic.name, error)) for topic in request.topics))


def _growth(topic: CreatePartitionsTopic) -> Growth:
    assignments = None if topic.assignments is None else tuple(each.broker_ids for each in topic.assignments)
    return Growth(topic.name, topic.count, assignments)


def _result(grown: Grown) -> CreatePartitionsTopicResult:
    if grown.error is None:
        return CreatePartitionsTopicResult(name=grown.name)
    return CreatePartitionsTopicResult(name=grown.name, error_code=grown.error.code, error_message=str(grown.error))
