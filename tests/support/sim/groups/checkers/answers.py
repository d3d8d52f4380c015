"""Every request that comes to a living coordinator gets one answer, and none waits longer than a rebalance takes."""

from support.sim.groups.watching import Checker

_WAIT_MS_MAX = 25_000
"""The rebalance timeout bounds how long a join waits for others, and a sync for the leader; and some more."""


class AnswersChecker(Checker):
    def ticked(self) -> None:
        self.world.broker.exchange.check_waits(_WAIT_MS_MAX)
