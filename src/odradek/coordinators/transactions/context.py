"""What the transactions of a shard are given: settings, metadata, time and producer ids come from outside."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from odradek.coordinators.timers import Timers
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.clock import Clock
from odradek.model.numbers import ProducerId


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionContext:
    config: Callable[[], BrokerConfig]
    """The settings as they are now."""
    image: Callable[[], Image]
    clock: Clock
    timers: Timers
    """Keys are Deadlines."""
    new_producer_id: Callable[[], ProducerId]
    """One that nobody else ever gets. Raises CoordinatorLoading while there is none at hand."""

    @property
    def level(self) -> int:
        """Of transaction.version."""
        return self.image().transaction_level


class Due(Enum):
    """What is to be done when a deadline comes."""

    TIMEOUTS = auto()
    """Transactions that were open for too long are to be aborted."""
    EXPIRY = auto()
    """Transactional ids that nobody uses any more are to be forgotten."""
    MARKERS = auto()
    """Markers that could not be written are to be tried again."""


class Deadline(NamedTuple):
    """The key of a timer."""

    due: Due
    transactional_id: str = ""
