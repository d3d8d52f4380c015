"""One seed from its beginning to the end, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from traceback import format_exception
from typing import Protocol

from odradek.model.broker_config import BrokerConfig
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from support.sim.node import TOPIC_DEFAULTS, logged
from support.sim.one_node.checkers.commits import Commits
from support.sim.one_node.checkers.metadata import Metadata
from support.sim.one_node.checkers.records import Records
from support.sim.one_node.churn import Churn
from support.sim.one_node.others import Administrator, Committer
from support.sim.one_node.plan import plan_of
from support.sim.one_node.watcher import Watcher, values_in
from support.sim.one_node.writers import Kind, Writer
from support.sim.process import Process
from support.sim.transactions.checkers.delivery import check_same, check_transactions
from support.sim.transactions.feeder import Feeder
from support.sim.transactions.ledger import Outcome as End
from support.sim.transactions.reader import Reader
from support.sim.transactions.world import World
from support.sim.violations import Violation

SETTLING_MS_MAX = 120_000
_LOOK_MS = 1_000
_WAIT_MS_MAX = 60_000
"""The longest that a request may wait for its answer: for many jobs of a slow disk."""
_QUICK_MS_MAX = 3_000
"""The same where the disk is not slow: clients give up later than that."""
_TRANSFERS = "transfers"
_TRANSFER_PARTITIONS = 2
_READ_BYTES = 1 << 22
_CONFIG = BrokerConfig(
    offsets_topic_num_partitions=1,
    transaction_state_log_num_partitions=1,
    metadata_log_max_record_bytes_between_snapshots=3_000,
)


@dataclass(frozen=True)
class Outcome:
    seed: int
    violation: str | None
    trace: tuple[str, ...]
    acked: int
    """Records without a transaction."""
    committed: int
    """Transactions."""
    lives: int
    settled_ms: int

    def told(self) -> str:
        """What to print where something is wrong."""
        return "\n".join((*self.trace, f"seed {self.seed}: {self.violation}", f"./run sim node --seed {self.seed}"))


class Client(Protocol):
    def start(self) -> None: ...


class Doing(Client, Protocol):
    is_done: bool


class Busy(Doing, Protocol):
    """Goes on until it is told to end."""

    process: Process
    is_ending: bool


class Reading(Client, Protocol):
    positions: dict[TopicPartition, int]


class Run:
    def __init__(self, seed: int) -> None:
        self.plan = plan_of(Random(f"node {seed}"))
        plan = self.plan
        defaults = replace(TOPIC_DEFAULTS, flush_messages=1) if plan.has_power_losses else TOPIC_DEFAULTS
        self.world = World(seed, plan.weather, replace(plan.weather, late_ms_max=0), _CONFIG, defaults)
        world = self.world
        self.records, self.metadata, self.commits = Records(plan.loose), Metadata(), Commits()
        self.places = [TopicPartition(topic, number) for topic, count in plan.topics.items() for number in range(count)]
        kinds = [Kind.IDEMPOTENT, *(world.rng.choice(list(Kind)) for _ in range(plan.writers - 1))]
        self.writers = [
            Writer(world, self.records, f"writer-{number}", kind, world.rng.choice(self.places))
            for number, kind in enumerate(kinds)
        ]
        self.watchers = [
            Watcher(world, self.records, f"watcher-{number}", self.places) for number in range(plan.readers)
        ]
        self.administrator = Administrator(world, self.metadata)
        self.committer = Committer(world, self.commits, "topic-0")
        self.feeder = Feeder(world, _TRANSFERS, _TRANSFER_PARTITIONS, plan.values, plan.churn_ms * 4 // plan.values)
        transfers = [TopicPartition(_TRANSFERS, number) for number in range(_TRANSFER_PARTITIONS)]
        self.readers = [Reader(world, transfers, size, 12) for size in (1, 1 << 20)]
        self.churn: Churn
        self._seen_life = 0
        self._lost_power = False

    def go(self) -> None:
        """Raises Violation."""
        world, node, plan = self.world, self.world.node, self.plan
        node.watched = self._look_at_life
        node.start()
        configs = {topic: {"flush.messages": str(1 << 40)} for topic in plan.loose if plan.has_power_losses}
        world.admin.set_up({**plan.topics, _TRANSFERS: _TRANSFER_PARTITIONS}, 1, configs)
        busy: tuple[Busy, ...] = (*self.writers, self.administrator, self.committer)
        churn = self.churn = Churn(
            world, plan, [each.process for each in busy] + [each.process for each in self.watchers]
        )
        node.died = lambda how: self._died(how, churn)
        clients: tuple[Client, ...] = (*busy, *self.watchers, self.feeder, *self.readers)
        for client in clients:
            client.start()
        churn.begin()
        self._look()
        world.events.run_until(world.events.now_ms + plan.churn_ms)
        world.note("the churn is over")
        churn.end()
        for each in busy:
            each.is_ending = True
        self._settle()
        self._check_all()

    def _died(self, how: str, churn: Churn) -> None:
        if how == "without power":
            self._lost_power = True
            self.records.power_lost(self.world.events.now_ms)
            for watcher in self.watchers:
                watcher.power_lost()
        churn.died()

    def _look_at_life(self) -> None:
        """When the node has come to serve."""
        node = self.world.node
        if not node.is_serving or node.life == self._seen_life:
            return
        self._seen_life = node.life
        self.metadata.check(node.image)
        if self._lost_power:
            self._lost_power = False
            ends = {place: int(node.log(place).end_offset) for place in self.places}
            self.records.recovered(ends)
            for watcher in self.watchers:
                for place, end in ends.items():
                    if self.records.is_loose(place):
                        watcher.recovered(place, end)

    def _look(self) -> None:
        self.world.exchange.check_waits(_WAIT_MS_MAX if self.churn.was_slow else _QUICK_MS_MAX)
        check_same(self.readers[0].seen, self.readers[1].seen, is_all=False)
        check_transactions(self.readers[0].seen, self.world.ledger, is_all=False)
        self.world.events.after(_LOOK_MS, self._look)

    def _settle(self) -> None:
        events = self.world.events
        ends_ms = events.now_ms + SETTLING_MS_MAX
        while not self._is_settled():
            if events.now_ms >= ends_ms:
                raise Violation(f"not all is done by now: {self._what_is_left()}")
            events.run_until(events.now_ms + 500)

    def _is_settled(self) -> bool:
        return self.world.node.is_serving and not any(self._what_is_left())

    def _what_is_left(self) -> tuple[str, ...]:
        node = self.world.node
        if not node.is_serving:
            return ("the node does not serve",)
        doing: tuple[Doing, ...] = (*self.writers, self.administrator, self.committer, self.feeder)
        readers: tuple[Reading, ...] = (*self.watchers, *self.readers)
        behind = [
            place
            for reader in readers
            for place, position in reader.positions.items()
            if position < node.log(place).end_offset
        ]
        return (*(type(each).__name__ for each in doing if not each.is_done), *map(str, behind))

    def _check_all(self) -> None:
        node = self.world.node
        self.metadata.check(node.image)
        self.records.check({place: self._content(place) for place in self.places})
        check_same(self.readers[0].seen, self.readers[1].seen, is_all=True)
        check_transactions(self.readers[0].seen, self.world.ledger, is_all=True)

    def _content(self, place: TopicPartition) -> dict[int, bytes]:
        log = self.world.node.log(place)
        found: dict[int, bytes] = {}
        at = log.start_offset
        while at < log.end_offset:
            part = log.read(at, _READ_BYTES)
            assert part is not None
            found.update(values_in(part.read()))
            at = Offset(max(found) + 1)
        return found


def run(seed: int) -> Outcome:
    history = Run(seed)
    world = history.world
    violation = None
    try:
        with logged(world.note):
            history.go()
    except Violation as error:
        world.note(f"VIOLATION: {error}")
        violation = str(error)
        if error.__cause__ is not None:
            violation += "\n" + "".join(format_exception(error.__cause__))
    except Exception as error:  # noqa: BLE001 - whatever is raised in a run was found by its seed
        violation = "".join(format_exception(error))
    finally:
        lives, ended_ms = world.node.life, world.events.now_ms
        world.node.died = _ignored
        world.node.kill()
    return Outcome(
        seed,
        violation,
        tuple(world.trace),
        history.records.count,
        world.ledger.count(End.COMMITTED),
        lives,
        ended_ms - history.plan.churn_ms,
    )


def _ignored(_how: str) -> None:
    return


def sum_up(outcomes: Sequence[Outcome]) -> str:
    acked = sum(outcome.acked for outcome in outcomes)
    committed = sum(outcome.committed for outcome in outcomes)
    lives = sum(outcome.lives for outcome in outcomes)
    settled_ms = max(outcome.settled_ms for outcome in outcomes)
    return (
        f"{acked} acknowledged records, {committed} transactions, {lives} lives; "
        f"settled after at most {settled_ms / 1000:.0f} s"
    )
