"""What a decision needs beside the image and the request: settings, and more about the request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from odradek.metadata.image import Image
from odradek.metadata.uuids import is_reserved
from odradek.model.broker_config import BrokerConfig
from odradek.model.topic_config import TopicConfig
from odradek.wire.messages.create_topics import CreatableTopicConfigs

Charge = Callable[[int], object]
"""Takes a number of partitions to create or delete from the client's quota. May raise a BrokerError."""


def for_nothing(_partitions: int) -> None:
    """The client has no quota."""


def _no_configs(_own: Mapping[str, str]) -> tuple[CreatableTopicConfigs, ...]:
    return ()


def _everyone(_broker_id: int) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Context:
    new_uuid: Callable[[], bytes]
    """16 bytes that nobody has: random ones."""
    cluster_id: str | None = None
    default_partitions: int = 1
    """num.partitions"""
    default_replication_factor: int = 1
    """default.replication.factor"""
    topic_defaults: TopicConfig = field(default_factory=TopicConfig)
    """What a topic's settings are where nothing is set."""
    delete_topic_enable: bool = True
    broker: BrokerConfig = field(default_factory=BrokerConfig)
    """What a group's settings are where nothing is set, and what they may be."""
    effective_configs: Callable[[Mapping[str, str]], tuple[CreatableTopicConfigs, ...]] = _no_configs
    """All settings of a new topic for which some are set, as the response to its creation lists them."""
    version: int = 0
    """Of the request."""
    charge: Charge = for_nothing
    unknown_hosts: frozenset[str] = frozenset()
    """Hosts that the request names and that have no address."""

    is_alive: Callable[[int], bool] = _everyone
    """Whether a broker was heard from since this controller is the active one. Another one may be long gone, even if
    it is registered and was never fenced."""

    def unused_uuid(self) -> bytes:
        """None of those that stand for something else."""
        while is_reserved(uuid := self.new_uuid()):
            pass
        return uuid


ContextOf = Callable[[Image], Context]
"""As settings are in an image: some change while brokers run."""
