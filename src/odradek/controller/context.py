"""What commands need to know beside the image: the node's own settings, and a source of ids."""

from collections.abc import Callable
from dataclasses import dataclass, field

from odradek.metadata.image import Image
from odradek.metadata.uuids import is_reserved
from odradek.model.broker_config import BrokerConfig
from odradek.model.topic_config import TopicConfig


@dataclass(frozen=True, slots=True)
class Context:
    new_uuid: Callable[[], bytes]
    """16 bytes that nobody has: random ones."""
    default_partitions: int = 1
    """num.partitions"""
    default_replication_factor: int = 1
    """default.replication.factor"""
    topic_defaults: TopicConfig = field(default_factory=TopicConfig)
    """What a topic's settings are where nothing is set."""
    delete_topic_enable: bool = True
    broker: BrokerConfig = field(default_factory=BrokerConfig)
    """What a group's settings are where nothing is set, and what they may be."""

    def unused_uuid(self) -> bytes:
        """None of those that stand for something else."""
        while is_reserved(uuid := self.new_uuid()):
            pass
        return uuid


ContextOf = Callable[[Image], Context]
"""As settings are in an image: some change while brokers run."""
