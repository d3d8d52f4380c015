"""What must hold, one file for each promise."""

from odradek.testing.sim.groups.checkers.answers import AnswersChecker
from odradek.testing.sim.groups.checkers.commits import CommitsChecker
from odradek.testing.sim.groups.checkers.coverage import CoverageChecker
from odradek.testing.sim.groups.checkers.epochs import EpochsChecker
from odradek.testing.sim.groups.checkers.offsets import OffsetsChecker
from odradek.testing.sim.groups.checkers.ownership import OwnershipChecker
from odradek.testing.sim.groups.checkers.recorded import Recorded
from odradek.testing.sim.groups.checkers.settling import SettlingChecker
from odradek.testing.sim.groups.watching import Checker
from odradek.testing.sim.groups.world import World


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
