"""CreateTopics, versions 2 to 7."""

from odradek.broker import shown_settings
from odradek.broker.call import Call
from odradek.broker.quotas.mutations import MutationRates
from odradek.broker.settings import Settings
from odradek.controller import topics
from odradek.controller.context import ContextOf
from odradek.controller.topics import Created, NewTopic
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.schema import Message

VERSIONS = (2, 7)
_STRICT_SINCE = 6
"""Older clients do not know that a quota can refuse them: they are served, and wait."""


class CreateTopics:
    def __init__(self, metadata: MetadataLog, context: ContextOf, settings: Settings, mutations: MutationRates) -> None:
        self._metadata = metadata
        self._context = context
        self._settings = settings
        self._mutations = mutations

    async def handle(self, call: Call, request: CreateTopicsRequest) -> Message:
        wanted = [_new_topic(topic) for topic in request.topics]
        account = self._mutations.account(call, is_strict=call.version >= _STRICT_SINCE)
        try:
            created = await self._metadata.perform(
                lambda image: topics.create(
                    image,
                    wanted,
                    self._context(image),
                    validate_only=request.validate_only,
                    charge=account.charge,
                )
            )
        except BrokerError as error:
            created = tuple(Created(topic.name, error) for topic in wanted)
        return call.throttled(CreateTopicsResponse(topics=tuple(map(self._result, created))), account.wait_ms())

    def _result(self, created: Created) -> CreatableTopicResult:
        outcome = created.outcome
        if isinstance(outcome, BrokerError):
            return CreatableTopicResult(name=created.name, error_code=outcome.code, error_message=str(outcome))
        configs = tuple(
            CreatableTopicConfigs(
                name=each.name, value=each.value, read_only=False, config_source=each.source, is_sensitive=False
            )
            for each in shown_settings.of_new_topic(self._settings, self._metadata.image, outcome.configs)
        )
        return CreatableTopicResult(
            name=created.name,
            topic_id=outcome.id,
            num_partitions=outcome.partitions,
            replication_factor=outcome.replication_factor,
            configs=configs,
        )


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((each.partition_index, each.broker_ids) for each in topic.assignments),
        {each.name: each.value for each in topic.configs},
    )
