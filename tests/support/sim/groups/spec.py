"""What a consumer is started with, and which versions of the APIs it speaks."""

from dataclasses import dataclass
from enum import Enum


class Protocol(Enum):
    RANGE = "range"
    ROUNDROBIN = "roundrobin"
    COOPERATIVE = "cooperative-sticky"
    CONSUMER = "consumer"
    """KIP-848: the server assigns."""


@dataclass(frozen=True, kw_only=True)
class Versions:
    join: int
    sync: int
    heartbeat: int
    leave: int
    commit: int
    fetch: int
    subscription: int = 3
    consumer_heartbeat: int = 1


LATEST = Versions(join=9, sync=5, heartbeat=4, leave=5, commit=10, fetch=10)
MIDDLE = Versions(join=5, sync=3, heartbeat=3, leave=3, commit=7, fetch=5, subscription=2, consumer_heartbeat=0)
"""Of the time when static members and cooperative rebalances were new."""
OLD = Versions(join=2, sync=1, heartbeat=1, leave=1, commit=3, fetch=3, subscription=0)
"""Before brokers asked members to come back with the id that they were given: a lost answer leaves a ghost behind."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    name: str
    group_id: str
    protocol: Protocol
    topics: tuple[str, ...] = ()
    regex: str | None = None
    instance_id: str | None = None
    versions: Versions = LATEST
    session_ms: int = 10_000
    heartbeat_ms: int = 3_000
    poll_max_ms: int = 20_000
    """The longest time between two polls; also how long others wait for this one in a rebalance."""
    leaves_when_late: bool = True
    """Whether it leaves when it has not polled for that long. If not, others have to do without it."""
    poll_ms: int = 500
    commit_ms: int = 5_000

    @property
    def is_classic(self) -> bool:
        return self.protocol is not Protocol.CONSUMER
