"""After the churn has ended, and everybody can reach the broker, groups become stable within a bounded time."""

from odradek.testing.sim.groups.checkers.coverage import CoverageChecker
from odradek.testing.sim.groups.watching import Checker, Violation
from odradek.testing.sim.groups.world import World


class SettlingChecker(Checker):
    def __init__(self, world: World, coverage: CoverageChecker) -> None:
        super().__init__(world)
        self._coverage = coverage

    def is_settled(self) -> bool:
        return self.world.broker.is_active and all(
            self._coverage.why_unstable(group_id) is None for group_id in self._group_ids()
        )

    def settled(self) -> None:
        for group_id in self._group_ids():
            why = self._coverage.why_unstable(group_id)
            if why is not None:
                raise Violation(f"{group_id} is not stable long after the churn has ended: {why}")
            self._coverage.check_whole(group_id)

    def _group_ids(self) -> list[str]:
        return list(dict.fromkeys(each.spec.group_id for each in self.world.consumers))
