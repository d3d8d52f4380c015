"""One run: everything that takes part in it, made from one seed."""

from collections import deque
from random import Random

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from support.sim.events import Events
from support.sim.groups.broker import new_id
from support.sim.groups.cluster import Cluster
from support.sim.groups.consumer import Consumer
from support.sim.groups.watching import Violation
from support.sim.network import CALM, Network, Weather
from support.sim.transactions.applications import Application, Slot, application_of
from support.sim.transactions.flow import Flow
from support.sim.transactions.ledger import Ledger
from support.sim.transactions.node import Node

_TRACE_LINES = 300


class World:
    def __init__(self, seed: int, weather: Weather, prompt: Weather, config: BrokerConfig) -> None:
        """`prompt` is the weather of older clients, whose late requests harm them in Kafka, too."""
        self.rng = Random(seed)
        self.events = Events()
        self._network = Network(self.events, self.rng, weather)
        self.prompt_network = Network(self.events, self.rng, prompt)
        self.cluster = Cluster()
        self.node = Node(self.events, self.rng, self.cluster, config)
        self.ledger = Ledger()
        self.applications: list[Application] = []
        """All that are alive, in the order in which they started."""
        self._count = 0
        self.is_calm = False
        self.trace: deque[str] = deque(maxlen=_TRACE_LINES)

    def network_of(self, flow: Flow) -> Network:
        """An older client begins the next transaction as the one before: a late request of that would be taken for one
        of this. That is why each has an epoch of its own with KIP-890."""
        return self._network if flow.joins else self.prompt_network

    def calm_down(self) -> None:
        """Nothing is in anybody's way any more."""
        self.is_calm = True
        self._network.weather = self.prompt_network.weather = CALM

    def start(self, slot: Slot) -> None:
        """A new application takes the slot, whoever has it."""
        self._count += 1
        application = slot.current = application_of(self, slot, f"application-{self._count}")
        self.note(f"{application.name} starts as {slot.transactional_id}")
        self.applications.append(application)
        application.start()

    def gone(self, application: Application) -> None:
        if application in self.applications:
            self.applications.remove(application)
            self.note(f"{application.name} is gone")
        if application.slot.current is application:
            application.slot.current = None

    def note(self, text: str) -> None:
        self.trace.append(f"{self.events.now_ms:8} {text}")

    # --- what consumers of the groups want of their world

    @property
    def network(self) -> Network:
        return self._network

    @property
    def broker(self) -> Node:
        return self.node

    @property
    def assigned_over(self) -> dict[tuple[str, int], frozenset[TopicPartition]]:
        return {}

    def new_id(self) -> str:
        return new_id(self.rng)

    def owned(self, consumer: Consumer) -> None:
        for application in self.applications:
            if application is consumer and not consumer.process.is_alive:
                self.gone(application)
                return

    def assigned(self, _leader: Consumer) -> None:
        return

    def unexpected(self, consumer: Consumer, error: ErrorCode) -> None:
        raise Violation(f"{consumer.spec.name} of {consumer.spec.group_id} was told {error.name}")
