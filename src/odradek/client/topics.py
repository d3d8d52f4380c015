"""Topics: made, grown, deleted. Each of several topics has an outcome of its own: None, or why it was refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.client.client import Client
from odradek.client.errors import Refused, raise_if_not_controller, refusal
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.schema import NO_UUID

BROKERS_DEFAULT = -1
"""As a number of partitions or replicas: what the broker's settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    name: str
    partitions: int = BROKERS_DEFAULT
    replication_factor: int = BROKERS_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)


Outcomes = dict[str, Refused | None]


async def create_topics(client: Client, topics: Iterable[NewTopic]) -> Outcomes:
    request = CreateTopicsRequest(topics=tuple(map(_creatable, topics)), timeout_ms=_timeout_ms(client))

    async def attempt() -> Outcomes:
        response = await client.ask_controller(request, CreateTopicsResponse)
        outcomes = {each.name: refusal(each.error_code, each.error_message) for each in response.topics}
        raise_if_not_controller(outcomes.values())
        return outcomes

    return await client.persist(attempt)


async def grow_topics(client: Client, names: Sequence[str], partitions: int) -> Outcomes:
    """Give each of them this many partitions, which must be more than it has."""
    topics = tuple(CreatePartitionsTopic(name=name, count=partitions, assignments=None) for name in names)
    request = CreatePartitionsRequest(topics=topics, timeout_ms=_timeout_ms(client), validate_only=False)

    async def attempt() -> Outcomes:
        response = await client.ask_controller(request, CreatePartitionsResponse)
        outcomes = {each.name: refusal(each.error_code, each.error_message) for each in response.results}
        raise_if_not_controller(outcomes.values())
        return outcomes

    return await client.persist(attempt)


async def delete_topics(client: Client, names: Sequence[str]) -> Outcomes:
    request = DeleteTopicsRequest(
        topics=tuple(DeleteTopicState(name=name, topic_id=NO_UUID) for name in names),
        topic_names=tuple(names),
        timeout_ms=_timeout_ms(client),
    )

    async def attempt() -> Outcomes:
        response = await client.ask_controller(request, DeleteTopicsResponse)
        outcomes = {each.name or "": refusal(each.error_code, each.error_message) for each in response.responses}
        raise_if_not_controller(outcomes.values())
        return outcomes

    return await client.persist(attempt)


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=(),
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()),
    )


def _timeout_ms(client: Client) -> int:
    """For the broker to carry it out: not longer than the answer is waited for."""
    return int(client.setting.request_timeout_s * 1000)
