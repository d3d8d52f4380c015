"""A step of the way that values go: from one topic to the next, by applications of one group."""

from dataclasses import dataclass

from support.sim.groups.spec import Protocol
from support.sim.transactions.flow import Flow


@dataclass(frozen=True, kw_only=True)
class Stage:
    group_id: str
    source: str
    partitions: int
    """Of the source."""
    target: str
    spread: int
    """The partitions of the target."""
    protocol: Protocol | None
    """None where each application reads partitions of its own, and only the transactional id keeps others out."""
    flows: tuple[Flow, ...]
    """Applications take one of them."""
    size: int
    """How many applications there are; without a group, one for each partition."""
    timeout_ms: int
    """Of transactions."""
    abort_chance: float
    take_max: int
    """Values in a transaction."""
    linger_ms: int
    """How long a step of a transaction takes, at most."""
    hesitates: float
    """The chance that a transaction is left as it is for some seconds before it is committed."""

    def target_of(self, number: int) -> int:
        return number % self.spread
