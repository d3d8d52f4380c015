"""What checkers see of a run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinators.result import Stored
from odradek.wire.schema import Message

if TYPE_CHECKING:
    from support.sim.exchange import Ticket
    from support.sim.groups.consumer import Consumer
    from support.sim.groups.world import World


class Checker:
    """Sees everything at the moment when it happens, and raises Violation. It overrides what it wants to see."""

    def __init__(self, world: "World") -> None:
        self.world = world

    def appended(self, batch: Sequence[Stored]) -> None:
        """A batch was written, and is about to be replayed."""

    def answered(self, ticket: "Ticket", response: Message) -> None:
        """An answer leaves; the client may never get it."""

    def killed(self) -> None:
        """The broker died: what it had not written is gone."""

    def loaded(self) -> None:
        """The next broker has loaded the log."""

    def owned(self, consumer: "Consumer") -> None:
        """A consumer thinks otherwise now about what it owns, or in whose name."""

    def ticked(self) -> None:
        """A second has passed."""

    def settled(self) -> None:
        """The churn has ended, and the time that groups have to become stable is over."""
