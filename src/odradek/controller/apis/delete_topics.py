"""DeleteTopics: by name, from version 6 on also by id."""

from odradek.controller import topics
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.controller.topics import Deleted, Doomed
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse

STRICT_SINCE = 5
"""Older clients do not know that a quota can refuse them: they are served, and wait."""


def decide(image: Image, request: DeleteTopicsRequest, context: Context) -> ControllerResult[DeleteTopicsResponse]:
    result = topics.delete(image, _doomed(request), context, charge=context.charge)
    return ControllerResult(result.records, DeleteTopicsResponse(responses=tuple(map(_result, result.response))))


def refuse(request: DeleteTopicsRequest, error: BrokerError) -> DeleteTopicsResponse:
    refused = (Deleted(each.name, each.id, error) for each in _doomed(request))
    return DeleteTopicsResponse(responses=tuple(map(_result, refused)))


def _doomed(request: DeleteTopicsRequest) -> list[Doomed]:
    named = [Doomed(name) for name in request.topic_names]
    return [*named, *(Doomed(topic.name, topic.topic_id) for topic in request.topics)]


def _result(deleted: Deleted) -> DeletableTopicResult:
    if deleted.error is None:
        return DeletableTopicResult(name=deleted.name, topic_id=deleted.id)
    return DeletableTopicResult(
        name=deleted.name, topic_id=deleted.id, error_code=deleted.error.code, error_message=str(deleted.error)
    )
