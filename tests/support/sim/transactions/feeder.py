"""Writes what is to be passed on, in transactions too. Nothing happens to it but what happens to the broker."""

from typing import TYPE_CHECKING

from odradek.model.topic_partition import TopicPartition
from support.sim.process import Process
from support.sim.script import Script, pause, perform
from support.sim.transactions.errors import Abortable, Fatal
from support.sim.transactions.flow import NEW
from support.sim.transactions.ledger import Outcome
from support.sim.transactions.lines import Lines
from support.sim.transactions.producer import Producer
from support.sim.transactions.values import Tag, Value
from support.sim.violations import Violation

if TYPE_CHECKING:
    from support.sim.transactions.world import World

_NAME = "feeder"
_TIMEOUT_MS = 900_000
"""The longest that brokers allow: no outage takes that long."""
_BATCH_MAX = 7
FEED_MEAN = (1 + _BATCH_MAX) // 2
"""Values that are fed at a time, on average."""
_ABORT_CHANCE = 0.1


class Feeder:
    def __init__(self, world: "World", topic: str, partitions: int, count: int, gap_ms: int) -> None:
        self._world = world
        self._topic = topic
        self._count = count
        self._gap_ms = gap_ms
        self._process = Process(world.events)
        # A late request for the id would fence it, whom nobody replaces.
        self._lines = Lines(world.prompt_host(self._process, _NAME), self._process, _NAME)
        self._producer = Producer(self._process, self._lines, NEW, _TIMEOUT_MS)
        self._transactions = 0
        self.fed = [0] * partitions
        """How many values each partition has got."""
        self.is_done = False

    def start(self) -> None:
        self._lines.open()
        perform(self._live())

    def _live(self) -> Script[None]:
        try:
            yield from self._feed_all()
        except Fatal as error:
            raise Violation(f"the feeder, whom nobody replaces, cannot go on: {error}") from None

    def _feed_all(self) -> Script[None]:
        yield from self._producer.init()
        while sum(self.fed) < self._count:
            size = self._world.rng.randint(1, _BATCH_MAX)
            source = self._world.rng.randrange(len(self.fed))
            yield from self._feed(source, range(self.fed[source], self.fed[source] + size))
            yield from pause(self._process, self._world.rng.randrange(2 * self._gap_ms))
        self.is_done = True

    def _feed(self, source: int, numbers: range) -> Script[None]:
        """Values of one partition. Those of a transaction that is aborted come again the next time."""
        self._transactions += 1
        entry = self._world.ledger.begin(Tag(_NAME, self._transactions))
        values = [Value(source, number, entry.tag) for number in numbers]
        entry.values = dict.fromkeys(values, TopicPartition(self._topic, source))
        try:
            yield from self._producer.produce(self._topic, {source: values})
            if self._world.rng.random() < _ABORT_CHANCE:
                raise Abortable("it wants to")
        except Abortable:
            yield from self._producer.end(commit=False)
            return
        entry.outcome = Outcome.ASKED
        yield from self._producer.end(commit=True)
        entry.outcome = Outcome.COMMITTED
        self.fed[source] += len(values)
