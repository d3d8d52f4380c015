"""CreateTopics."""

from odradek.controller import topics
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.controller.topics import Created, NewTopic
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

STRICT_SINCE = 6
"""Older clients do not know that a quota can refuse them: they are served, and wait."""


def decide(image: Image, request: CreateTopicsRequest, context: Context) -> ControllerResult[CreateTopicsResponse]:
    wanted = [_new_topic(topic) for topic in request.topics]
    result = topics.create(image, wanted, context, validate_only=request.validate_only, charge=context.charge)
    results = tuple(_result(created, context) for created in result.response)
    return ControllerResult(result.records, CreateTopicsResponse(topics=results))


def refuse(request: CreateTopicsRequest, error: BrokerError) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=tuple(_refusal(topic.name, error) for topic in request.topics))


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((each.partition_index, each.broker_ids) for each in topic.assignments),
        {each.name: each.value for each in topic.configs},
    )


def _result(created: Created, context: Context) -> CreatableTopicResult:
    outcome = created.outcome
    if isinstance(outcome, BrokerError):
        return _refusal(created.name, outcome)
    return CreatableTopicResult(
        name=created.name,
        topic_id=outcome.id,
        num_partitions=outcome.partitions,
        replication_factor=outcome.replication_factor,
        configs=context.effective_configs(outcome.configs),
    )


def _refusal(name: str, error: BrokerError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=str(error))
