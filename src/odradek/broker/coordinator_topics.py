"""Topics that coordinators write, each made when the first client asks for its coordinator."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.settings import Settings
from odradek.controller import topics
from odradek.controller.context import ContextOf
from odradek.controller.errors import TopicAlreadyExists
from odradek.controller.topics import Created, NewTopic
from odradek.metadata.decision import Decision
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


class _Shape(NamedTuple):
    partitions: int
    replicas: int
    configs: dict[str, str]


class CoordinatorTopics:
    def __init__(self, metadata: MetadataLog, context: ContextOf, settings: Settings) -> None:
        self._metadata = metadata
        self._context = context
        self._settings = settings

    async def make(self, name: str) -> None:
        """It is there when this returns, made by us or by somebody else meanwhile. Raises a BrokerError."""
        (created,) = await self._metadata.perform(lambda image: self._decide(name, image))
        if isinstance(created.outcome, BrokerError) and not isinstance(created.outcome, TopicAlreadyExists):
            raise created.outcome

    def _decide(self, name: str, image: Image) -> Decision[tuple[Created, ...]]:
        brokers = max(sum(broker.active for broker in image.brokers.values()), 1)
        shape = _SHAPES[name](self._settings.now(image), brokers)
        topic = NewTopic(name, shape.partitions, shape.replicas, configs=shape.configs)
        return topics.create(image, [topic], self._context(image))


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
