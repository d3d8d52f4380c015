"""After the churn has ended, and everybody can reach the broker, groups become stable within a bounded time."""

from support.sim.groups.checkers.coverage import CoverageChecker
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation

_STABLE_MS = 45_000
"""How long groups must stay stable, so that what goes wrong again and again shows: four sessions."""


class SettlingChecker(Checker):
    def __init__(self, world: World, coverage: CoverageChecker) -> None:
        super().__init__(world)
        self._coverage = coverage

        self._unstable = "nobody looked"
        self._unstable_ms = 0
        """When it was so."""

    def ticked(self) -> None:
        for group_id in self._group_ids():
            why = self._coverage.why_unstable(group_id) if self.world.broker.is_active else "the broker is down"
            if why is not None:
                self._unstable = f"{group_id}: {why}"
                self._unstable_ms = self.world.events.now_ms
                return

    def is_settled(self) -> bool:
        return self.world.events.now_ms - self._unstable_ms >= _STABLE_MS

    def settled(self) -> None:
        if not self.is_settled():
            raise Violation(f"not stable long after the churn has ended: {self._unstable}")
        for group_id in self._group_ids():
            self._coverage.check_whole(group_id)
        self._unstable_ms = self.world.events.now_ms

    def _group_ids(self) -> list[str]:
        return list(dict.fromkeys(each.spec.group_id for each in self.world.consumers))
