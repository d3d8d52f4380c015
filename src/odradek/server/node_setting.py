"""What a node is told when it starts: its directories, its addresses, its settings."""

import os
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.model.broker_config import BrokerConfig
from odradek.model.topic_config import TopicConfig


class Listening(NamedTuple):
    """An address that clients connect to."""

    host: str
    port: int
    advertised: tuple[str, int] | None = None
    """What clients are told; None for the address that each of them connected to."""
    name: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetting:
    directories: list[str]
    metadata_directory: str | None = None
    """Has the metadata log; None for the first of the others."""
    host: str = "127.0.0.1"
    port: int = 9092
    advertised: tuple[str, int] | None = None
    """As of `Listening`."""
    listeners: tuple[Listening, ...] = ()
    """In place of the one at `host` and `port`."""
    node_id: int = 1
    """Of a new directory; one that is formatted already says it itself."""
    config: BrokerConfig = field(default_factory=BrokerConfig)
    """What clients are told that the settings are."""
    topic_defaults: TopicConfig = field(default_factory=TopicConfig)
    partitions: int = 1
    """num.partitions"""
    ignore_acls: bool = False

    @property
    def listening(self) -> tuple[Listening, ...]:
        return self.listeners or (Listening(self.host, self.port, self.advertised),)

    @property
    def listener_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.listening)

    @property
    def metadata_path(self) -> str:
        """As it is among `directories`, however else it may be written."""
        wanted = os.path.abspath(self.metadata_directory or self.directories[0])
        return next((path for path in self.directories if os.path.abspath(path) == wanted), wanted)

    @property
    def all_directories(self) -> list[str]:
        """That of the metadata log first."""
        return list(dict.fromkeys((self.metadata_path, *self.directories)))
