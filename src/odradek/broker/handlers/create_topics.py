"""CreateTopics, versions 2 to 7."""

from odradek.broker.call import Call
from odradek.controller import topics
from odradek.controller.context import Context
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

VERSIONS = (2, 7)
_FROM_TOPIC = 1
"""Where a setting comes from: it was set for this topic."""


class CreateTopics:
    def __init__(self, metadata: MetadataLog, context: Context) -> None:
        self._metadata = metadata
        self._context = context

    async def handle(self, _call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
        wanted = [_new_topic(topic) for topic in request.topics]
        try:
            created = await self._metadata.perform(
                lambda image: topics.create(image, wanted, self._context, validate_only=request.validate_only)
            )
        except BrokerError as error:
            created = tuple(Created(topic.name, error) for topic in wanted)
        return CreateTopicsResponse(topics=tuple(map(_result, created)))


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((each.partition_index, each.broker_ids) for each in topic.assignments),
        {each.name: each.value for each in topic.configs},
    )


def _result(created: Created) -> CreatableTopicResult:
    outcome = created.outcome
    if isinstance(outcome, BrokerError):
        return CreatableTopicResult(name=created.name, error_code=outcome.code, error_message=str(outcome))
    configs = tuple(
        CreatableTopicConfigs(name=name, value=value, read_only=False, config_source=_FROM_TOPIC, is_sensitive=False)
        for name, value in outcome.configs.items()
    )
    return CreatableTopicResult(
        name=created.name,
        topic_id=outcome.id,
        num_partitions=outcome.partitions,
        replication_factor=outcome.replication_factor,
        configs=configs,
    )
