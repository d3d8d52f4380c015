"""Topics made over the protocol, also where an event loop runs already."""

from collections.abc import Mapping

from odradek.testing.broker import BrokerFailed
from odradek.testing.one_request import ANSWER_S, ask
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

_VERSION = 7


def create(address: tuple[str, int], name: str, partitions: int, configs: Mapping[str, str]) -> None:
    """Returns when it can be used. Raises BrokerFailed if the broker refuses."""
    given = tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=given)
    request = CreateTopicsRequest(topics=(topic,), timeout_ms=ANSWER_S * 1000)
    answer = ask(address, request, CreateTopicsResponse, _VERSION).topics[0]
    if answer.error_code:
        raise BrokerFailed(f"the broker refused to create {name}: {answer.error_message} (code {answer.error_code})")
