"""DeleteTopics, versions 1 to 6: by name, from version 6 also by id."""

from odradek.broker.call import Call
from odradek.broker.quotas.mutations import MutationRates
from odradek.controller import topics
from odradek.controller.context import ContextOf
from odradek.controller.topics import Deleted, Doomed
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from odradek.wire.schema import Message

VERSIONS = (1, 6)
_STRICT_SINCE = 5
"""Older clients do not know that a quota can refuse them: they are served, and wait."""


class DeleteTopics:
    def __init__(self, metadata: MetadataLog, context: ContextOf, mutations: MutationRates) -> None:
        self._metadata = metadata
        self._context = context
        self._mutations = mutations

    async def handle(self, call: Call, request: DeleteTopicsRequest) -> Message:
        named = [Doomed(name) for name in request.topic_names]
        doomed = [*named, *(Doomed(topic.name, topic.topic_id) for topic in request.topics)]
        account = self._mutations.account(call, is_strict=call.version >= _STRICT_SINCE)
        try:
            deleted = await self._metadata.perform(
                lambda image: topics.delete(image, doomed, self._context(image), charge=account.charge)
            )
        except BrokerError as error:
            deleted = tuple(Deleted(each.name, each.id, error) for each in doomed)
        return call.throttled(DeleteTopicsResponse(responses=tuple(map(_result, deleted))), account.wait_ms())


def _result(deleted: Deleted) -> DeletableTopicResult:
    if deleted.error is None:
        return DeletableTopicResult(name=deleted.name, topic_id=deleted.id)
    return DeletableTopicResult(
        name=deleted.name, topic_id=deleted.id, error_code=deleted.error.code, error_message=str(deleted.error)
    )
