"""One run: everything that takes part in it, made from one seed."""

from collections import deque
from random import Random

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from support.sim.admin import Admin
from support.sim.events import Events
from support.sim.exchange import Exchange
from support.sim.groups.consumer import Consumer
from support.sim.node import TOPIC_DEFAULTS, SimNode, new_id
from support.sim.process import Process
from support.sim.streams import CALM, SimHost, SimNetwork, Weather
from support.sim.transactions.applications import Application, Slot, application_of
from support.sim.transactions.flow import Flow
from support.sim.transactions.ledger import Ledger
from support.sim.violations import Violation

_TRACE_LINES = 300


class World:
    def __init__(
        self,
        seed: int,
        weather: Weather,
        prompt: Weather,
        config: BrokerConfig,
        topic_defaults: TopicConfig = TOPIC_DEFAULTS,
    ) -> None:
        """`prompt` is the weather of older clients, whose late requests harm them in Kafka, too."""
        self.rng = Random(seed)
        self.events = Events()
        self.network = SimNetwork(self.events, self.rng, weather)
        self._prompt = prompt
        self.node = SimNode(self.events, self.rng, self.network, config, topic_defaults)
        self.node.note = self.note
        self.exchange = Exchange(self.events, ())
        self.node.host.tap = self.exchange
        self.admin = Admin(self.events, self.network, self.node)
        self.ledger = Ledger()
        self.applications: list[Application] = []
        """All that are alive, in the order in which they started."""
        self._count = 0
        self.is_calm = False
        self.trace: deque[str] = deque(maxlen=_TRACE_LINES)

    def host_of(self, process: Process, name: str, flow: Flow) -> SimHost:
        """An older client begins the next transaction as the one before: a late request of that would be taken for one
        of this. That is why each has an epoch of its own with KIP-890."""
        return process.host(self.network, name) if flow.joins else self.prompt_host(process, name)

    def prompt_host(self, process: Process, name: str) -> SimHost:
        return process.host(self.network, name, lambda: self._prompt)

    def calm_down(self) -> None:
        """Nothing is in anybody's way any more."""
        self.is_calm = True
        self.network.weather = self._prompt = CALM

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
