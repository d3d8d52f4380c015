"""Every request that comes to a living coordinator gets one answer, and none waits longer than a rebalance takes."""

from odradek.wire.schema import Message
from support.sim.groups.broker import Ticket
from support.sim.groups.watching import Checker, Violation

_WAIT_MS_MAX = 25_000
"""The rebalance timeout bounds how long a join waits for others, and a sync for the leader; and some more."""


class AnswersChecker(Checker):
    def answered(self, ticket: Ticket, response: Message) -> None:
        if ticket not in self.world.broker.waiting:
            raise Violation(f"{type(ticket.request).__name__} was answered twice, now with {response}")

    def ticked(self) -> None:
        now = self.world.events.now_ms
        for ticket, since_ms in self.world.broker.waiting.items():
            if now - since_ms > _WAIT_MS_MAX:
                raise Violation(f"{type(ticket.request).__name__} waits since {since_ms}: {ticket.request}")
            break  # they are in the order in which they came
