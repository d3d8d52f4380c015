"""An event on its way to a topic."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    topic: str
    key: str
    value: bytes | None
    time_ms: int
    """When it was, as its value says; where the value says something else, that is what is wrong with it."""
    sent_ms: int
    """The timestamp of its record."""
    reason: str | None = None
    """Why it must count for nothing, as `contract.Reason` has it; None for a good one."""
