"""Topics that coordinators write, each made when the first client asks for its coordinator."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.refusal import raise_refusal
from odradek.broker.settings.settings import Settings
from odradek.controller.controller import Controller
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


class _Shape(NamedTuple):
    partitions: int
    replicas: int
    configs: dict[str, str]


class CoordinatorTopics:
    def __init__(self, controller: Controller, broker: Broker, settings: Settings) -> None:
        self._controller = controller
        self._broker = broker
        self._settings = settings

    async def make(self, name: str) -> None:
        """It is there when this returns, made by us or by somebody else meanwhile. Raises a BrokerError."""
        image = self._broker.image
        brokers = max(sum(broker.active for broker in image.brokers.values()), 1)
        shape = _SHAPES[name](self._settings.now(image), brokers)
        topic = CreatableTopic(
            name=name,
            num_partitions=shape.partitions,
            replication_factor=shape.replicas,
            assignments=(),
            configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in shape.configs.items()),
        )
        response = await self._controller.ask(CreateTopicsRequest(topics=(topic,)), ControllerRequestContext(version=7))
        assert isinstance(response, CreateTopicsResponse)
        (created,) = response.topics
        if created.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise_refusal(created.error_code, created.error_message)


def _offsets(config: BrokerConfig, brokers: int) -> _Shape:
    return _Shape(
        config.offsets_topic_num_partitions,
        min(config.offsets_topic_replication_factor, brokers),
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


def _transactions(config: BrokerConfig, brokers: int) -> _Shape:
    replicas = min(config.transaction_state_log_replication_factor, brokers)
    return _Shape(
        config.transaction_state_log_num_partitions,
        replicas,
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(min(config.transaction_state_log_min_isr, replicas)),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )


_SHAPES: dict[str, Callable[[BrokerConfig, int], _Shape]] = {OFFSETS_TOPIC: _offsets, TRANSACTIONS_TOPIC: _transactions}
