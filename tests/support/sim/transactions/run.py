"""One seed from its beginning to the end, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from traceback import format_exception

from odradek.model.broker_config import BrokerConfig
from odradek.model.topic_partition import TopicPartition
from support.sim.node import TOPIC_DEFAULTS, logged
from support.sim.transactions.applications import Slot
from support.sim.transactions.checkers.delivery import (
    check_order,
    check_same,
    check_transactions,
    check_values,
)
from support.sim.transactions.checkers.ending import check_ended, is_quiet
from support.sim.transactions.checkers.stable import StableOffsets
from support.sim.transactions.churn import Churn
from support.sim.transactions.feeder import Feeder
from support.sim.transactions.ledger import Outcome as End
from support.sim.transactions.plan import Plan, plan_of
from support.sim.transactions.reader import Reader
from support.sim.transactions.used_ids import write_used_ids
from support.sim.transactions.world import World
from support.sim.violations import Violation

SETTLING_MS_MAX = 300_000
"""Sessions (4 s), rebalances (8 s), transactions that time out (30 s) and the transactions themselves follow each
other; a queue of values is worked off by what may be one application, a few at a time."""

_FETCH_VERSION = 12
_LOOK_MS = 2_000
_CONFIG = BrokerConfig(
    group_initial_rebalance_delay_ms=500,
    group_min_session_timeout_ms=1_000,
    group_consumer_session_timeout_ms=4_000,
    group_consumer_heartbeat_interval_ms=1_000,
    transaction_abort_timed_out_transaction_cleanup_interval_ms=1_000,
    offsets_topic_num_partitions=2,
    transaction_state_log_num_partitions=2,
)


@dataclass(frozen=True)
class Outcome:
    seed: int
    violation: str | None
    trace: tuple[str, ...]
    values: int
    committed: int
    """Transactions whose applications heard of their commit."""
    unheard: int
    """Those that may have been committed."""
    aborted: int
    lives: int
    """Of the broker."""
    settled_ms: int
    is_synced: bool = False

    def told(self) -> str:
        """What to print where something is wrong."""
        command = f"./run sim transactions --seed {self.seed}{' --synced' if self.is_synced else ''}"
        return "\n".join((*self.trace, f"seed {self.seed}: {self.violation}", command))


class Run:
    def __init__(self, seed: int, *, is_synced: bool = False) -> None:
        self.plan = plan_of(Random(f"transactions {seed}"))
        plan = self.plan
        defaults = replace(TOPIC_DEFAULTS, flush_messages=1) if is_synced else TOPIC_DEFAULTS
        self.world = World(seed, plan.weather, plan.prompt, _CONFIG, defaults)
        self.stable = StableOffsets(self.world.node)
        self.slots = _slots(self.world, plan)
        first = plan.stages[0]
        self.feeder = Feeder(self.world, first.source, first.partitions, plan.values, plan.feed_gap_ms)
        places = [TopicPartition(topic, number) for topic, count in plan.topics.items() for number in range(count)]
        self.readers = [Reader(self.world, places, size, _FETCH_VERSION) for size in plan.fetch_sizes]
        self.places = places
        self.is_settled = False

    def go(self) -> None:
        """Raises Violation."""
        world, node = self.world, self.world.node
        node.watched = self.stable.look
        node.start()
        world.admin.set_up(self.plan.topics, 2)
        if self.plan.is_epoch_high:
            write_used_ids(node, [slot.transactional_id for slot in self.slots])
        churn = Churn(world, self.plan, self.slots)
        for reader in self.readers:
            reader.start()
        self.feeder.start()
        churn.begin()
        self._look()
        world.events.run_until(self.plan.churn_ms)
        churn.end()
        world.note("the churn is over")
        self._settle()
        self._check_all()

    def _look(self) -> None:
        self._check_so_far()
        self.world.events.after(_LOOK_MS, self._look)

    def _check_so_far(self) -> None:
        for one, other in combinations(self.readers, 2):
            check_same(one.seen, other.seen, is_all=False)
        check_transactions(self.readers[-1].seen, self.world.ledger, is_all=False)

    def _settle(self) -> None:
        """Until all is passed on and nothing is open, or the time for that is over."""
        events = self.world.events
        ends_ms = events.now_ms + SETTLING_MS_MAX
        while events.now_ms < ends_ms and not self._is_settled():
            events.run_until(events.now_ms + 500)
        self.is_settled = events.now_ms < ends_ms

    def _is_settled(self) -> bool:
        if not self.world.node.is_serving:
            return False
        is_read = all(
            position == self.world.node.log(place).end_offset
            for reader in self.readers
            for place, position in reader.positions.items()
        )
        is_done = self.feeder.is_done and is_read and is_quiet(self.world.node, self.stable)
        return is_done and all(
            sum(len(self.stable.committed(place)) for place in self.places if place.topic == topic)
            >= sum(self.feeder.fed)
            for topic in self.plan.topics
        )

    def _check_all(self) -> None:
        check_ended(self.world.node, self.stable)
        committed = {place: self.stable.committed(place) for place in self.places}
        if not self.is_settled:
            counts = {str(place): len(reads) for place, reads in committed.items()}
            raise Violation(f"not all is passed on by now: {self.feeder.fed} were fed, there are {counts}")
        for reader in self.readers:
            check_same(reader.seen, committed, is_all=True)
        check_transactions(committed, self.world.ledger, is_all=True)
        for topic in self.plan.topics:
            check_values(topic, committed, self.feeder.fed)
        check_order(committed, self.plan.stages[0].spread if len(self.plan.stages) > 1 else 1)


def run(seed: int, *, is_synced: bool = False) -> Outcome:
    """`is_synced` has all topics sync each record before anybody is told of it."""
    history = Run(seed, is_synced=is_synced)
    world = history.world
    violation = None
    try:
        with logged(world.note):
            history.go()
    except Violation as error:
        world.note(f"VIOLATION: {error}")
        violation = str(error)
    except Exception as error:  # noqa: BLE001 - whatever is raised in a run was found by its seed
        violation = "".join(format_exception(error))
    finally:
        lives = world.node.life
        world.node.died = _ignored
        world.node.kill()
    return Outcome(
        seed,
        violation,
        tuple(world.trace),
        sum(history.feeder.fed),
        world.ledger.count(End.COMMITTED),
        world.ledger.count(End.ASKED),
        world.ledger.count(End.NOT_ASKED),
        lives,
        world.events.now_ms - history.plan.churn_ms,
        is_synced,
    )


def _slots(world: World, plan: Plan) -> list[Slot]:
    slots = []
    for number, stage in enumerate(plan.stages):
        alone = stage.protocol is None
        for place in range(stage.partitions if alone else stage.size):
            flow = world.rng.choice(stage.flows)
            partitions = (TopicPartition(stage.source, place),) if alone else ()
            slots.append(Slot(stage, f"id-{number}-{place}", flow, partitions))
    return slots


def _ignored(_how: str) -> None:
    return


def sum_up(outcomes: Sequence[Outcome]) -> str:
    values = sum(outcome.values for outcome in outcomes)
    committed = sum(outcome.committed for outcome in outcomes)
    unheard = sum(outcome.unheard for outcome in outcomes)
    aborted = sum(outcome.aborted for outcome in outcomes)
    lives = sum(outcome.lives for outcome in outcomes)
    settled_ms = max(outcome.settled_ms for outcome in outcomes)
    return (
        f"{values} values in {committed} transactions, {unheard} more that ended unheard, {aborted} that did not; "
        f"{lives} lives of brokers; settled after at most {settled_ms / 1000:.0f} s"
    )
