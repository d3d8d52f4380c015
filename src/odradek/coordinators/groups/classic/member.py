"""A member of a classic group."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from odradek.coordinators.result import RequestContext


class Protocol(NamedTuple):
    """A way to assign that a member knows, and what it tells whoever assigns that way."""

    name: str
    metadata: bytes


@dataclass(slots=True, kw_only=True, eq=False)
class ClassicMember:
    member_id: str
    instance_id: str | None
    """Of a static member, which keeps its place when it restarts."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[Protocol, ...]
    """Those it likes best come first."""
    assignment: bytes = b""

    joining: RequestContext | None = None
    """Waits for the next generation."""
    syncing: RequestContext | None = None
    """Waits for its assignment."""
    is_new: bool = False
    """Whether it has been in no generation yet. It sends no heartbeats before."""

    @property
    def is_waiting(self) -> bool:
        """Whether it cannot be expected to send heartbeats."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """What it says for this protocol; nothing if it does not know it."""
        return next((known.metadata for known in self.protocols if known.name == protocol), b"")

    def knows(self, protocol: str) -> bool:
        for known in self.protocols:  # noqa: SIM110 - twice as fast as `any`, and each join asks all members
            if known.name == protocol:
                return True
        return False

    def vote(self, candidates: Iterable[str]) -> str:
        """Its favourite among the candidates, of which it knows at least one."""
        return next(known.name for known in self.protocols if known.name in candidates)
