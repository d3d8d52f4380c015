"""DeleteTopics, versions 1 to 6: by name, from version 6 also by id."""

from odradek.broker.call import Call
from odradek.controller import topics
from odradek.controller.context import ContextOf
from odradek.controller.topics import Deleted, Doomed
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse

VERSIONS = (1, 6)


class DeleteTopics:
    def __init__(self, metadata: MetadataLog, context: ContextOf) -> None:
        self._metadata = metadata
        self._context = context

    async def handle(self, _call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        named = [Doomed(name) for name in request.topic_names]
        doomed = [*named, *(Doomed(topic.name, topic.topic_id) for topic in request.topics)]
        try:
            deleted = await self._metadata.perform(lambda image: topics.delete(image, doomed, self._context(image)))
        except BrokerError as error:
            deleted = tuple(Deleted(each.name, each.id, error) for each in doomed)
        return DeleteTopicsResponse(responses=tuple(map(_result, deleted)))


def _result(deleted: Deleted) -> DeletableTopicResult:
    if deleted.error is None:
        return DeletableTopicResult(name=deleted.name, topic_id=deleted.id)
    return DeletableTopicResult(
        name=deleted.name, topic_id=deleted.id, error_code=deleted.error.code, error_message=str(deleted.error)
    )
