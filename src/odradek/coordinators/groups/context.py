"""What the groups of a shard are given: settings, metadata, time and chance come from outside."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import NamedTuple

from odradek.coordinators.timers import Timers
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.clock import Clock
from odradek.model.group_config import GroupConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContext:
    config: Callable[[], BrokerConfig]
    """The settings as they are now."""
    group_config: Callable[[str], GroupConfig]
    """Those of one group: its own, and the broker's where it has none."""
    image: Callable[[], Image]
    clock: Clock
    timers: Timers
    """Keys are Deadlines."""
    new_id: Callable[[], str]
    """A UUID in the text form of member ids, never the same twice."""


class Due(IntEnum):
    """What is to be done when a deadline comes. Numbers, as each heartbeat looks one up: others hash by their name."""

    SESSION = auto()
    """A member of a classic group was silent for too long."""
    JOIN = auto()
    """A classic group has waited long enough for its members to join."""
    SYNC = auto()
    """A generation of a classic group has waited long enough for its members to ask for their assignment."""
    CONSUMER_SESSION = auto()
    """A member of a consumer group was silent for too long."""
    CONSUMER_REVOCATION = auto()
    """A member of a consumer group has kept partitions for too long that it has to give back."""
    CONSUMER_JOIN = auto()
    """A member of a consumer group that speaks the classic protocol was called to join again, and did not."""
    CONSUMER_SYNC = auto()
    """Such a member joined, and did not ask for its assignment."""
    DOWNGRADED = auto()
    """A consumer group has become a classic one, and goes on as that."""
    EXPIRY = auto()
    """All groups of the shard are to be looked at: offsets and groups that nobody uses any more go."""


class Deadline(NamedTuple):
    """The key of a timer."""

    due: Due
    group_id: str
    member_id: str = ""
