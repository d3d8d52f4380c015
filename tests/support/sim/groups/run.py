"""One seed from its beginning to the end, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from traceback import format_exception

from odradek.model.broker_config import BrokerConfig
from support.sim.groups.checkers import all_checkers
from support.sim.groups.checkers.coverage import CoverageChecker
from support.sim.groups.checkers.settling import SettlingChecker
from support.sim.groups.churn import Churn
from support.sim.groups.plan import Plan, plan_of
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.node import logged
from support.sim.violations import Violation

SETTLING_MS_MAX = 150_000
"""The dead are noticed within a session (10 s) of the last time that they were heard of. A rebalance waits for the slow
for at most their 20 s, and cooperative groups need two of them; one that was under way when the last session ran out
comes before that, and new partitions, which the leader notices within 4 s, may bring another. A consumer that joined
with an old client, and lost the answer, is a ghost for one more session."""

MIGRATES = True
"""Whether some groups move between the protocols."""

_CONFIG = BrokerConfig(
    group_initial_rebalance_delay_ms=1_000,
    group_consumer_session_timeout_ms=10_000,
    group_consumer_heartbeat_interval_ms=3_000,
    group_consumer_migration_policy="bidirectional",
    offsets_topic_num_partitions=1,
    transaction_state_log_num_partitions=1,
)


@dataclass(frozen=True)
class Outcome:
    seed: int
    violation: str | None
    trace: tuple[str, ...]
    stable_moments: int
    """How often a group was found stable, and looked at."""
    settled_ms: int
    """After the end of the churn, and once more after topics have grown."""
    records: int

    def told(self) -> str:
        """What to print where something is wrong."""
        return "\n".join((*self.trace, f"seed {self.seed}: {self.violation}", f"./run sim --seed {self.seed}"))


def run(seed: int, *, migrates: bool = MIGRATES) -> Outcome:
    plan = plan_of(Random(f"plan {seed}"), migrates=migrates)
    world = World(seed, plan.weather, _CONFIG)
    checkers = all_checkers(world)
    world.broker.checkers = checkers
    violation = None
    try:
        with logged(world.note):
            _tell(world, plan, checkers)
    except Violation as error:
        world.note(f"VIOLATION: {error}")
        violation = str(error)
    except Exception as error:  # noqa: BLE001 - whatever is raised in a run was found by its seed
        violation = "".join(format_exception(error))
    finally:
        ended_ms = world.events.now_ms
        world.node.kill()
    (coverage,) = (each for each in checkers if isinstance(each, CoverageChecker))
    return Outcome(
        seed,
        violation,
        tuple(world.trace),
        coverage.stable_moments,
        ended_ms - plan.churn_ms,
        world.broker.records,
    )


def _tell(world: World, plan: Plan, checkers: Sequence[Checker]) -> None:
    world.node.start()
    world.admin.set_up(plan.topics, 1)
    _tick(world)
    churn = Churn(world, plan)
    churn.begin()
    world.events.run_until(plan.churn_ms)
    world.note("the churn ends")
    churn.end()
    (settling,) = (each for each in checkers if isinstance(each, SettlingChecker))
    _settle(world, settling)
    churn.grow_once_more()
    _settle(world, settling)


def _tick(world: World) -> None:
    for checker in world.broker.checkers:
        checker.ticked()
    world.events.after(1_000, partial(_tick, world))


def _settle(world: World, settling: SettlingChecker) -> None:
    """Until all groups have been stable for a while, or have had their time."""
    ends_ms = world.events.now_ms + SETTLING_MS_MAX
    while world.events.now_ms < ends_ms and not settling.is_settled():
        world.events.run_until(world.events.now_ms + 1_000)
    for checker in world.broker.checkers:
        checker.settled()


def sum_up(outcomes: Sequence[Outcome]) -> str:
    moments = sum(outcome.stable_moments for outcome in outcomes)
    records = sum(outcome.records for outcome in outcomes)
    settled_ms = max(outcome.settled_ms for outcome in outcomes)
    return f"{moments} stable moments, {records} records; settled after at most {settled_ms / 1000:.0f} s"
