"""What must hold, one file for each promise."""

from support.sim.groups.checkers.answers import AnswersChecker
from support.sim.groups.checkers.commits import CommitsChecker
from support.sim.groups.checkers.coverage import CoverageChecker
from support.sim.groups.checkers.epochs import EpochsChecker
from support.sim.groups.checkers.offsets import OffsetsChecker
from support.sim.groups.checkers.ownership import OwnershipChecker
from support.sim.groups.checkers.recorded import Recorded
from support.sim.groups.checkers.settling import SettlingChecker
from support.sim.groups.watching import Checker
from support.sim.groups.world import World


def all_checkers(world: World) -> list[Checker]:
    """In the order in which they are told: `recorded` first, since others look into it."""
    recorded = Recorded(world)
    coverage = CoverageChecker(world, recorded)
    return [
        recorded,
        EpochsChecker(world),
        AnswersChecker(world),
        CommitsChecker(world, recorded),
        OffsetsChecker(world),
        OwnershipChecker(world),
        coverage,
        SettlingChecker(world, coverage),
    ]
