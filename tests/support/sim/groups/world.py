"""One run: everything that takes part in it, made from one seed."""

from collections import deque
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from support.sim.admin import Admin
from support.sim.events import Events
from support.sim.groups.broker import Broker
from support.sim.groups.classic import ClassicConsumer
from support.sim.groups.consumer import Consumer
from support.sim.groups.modern import ModernConsumer
from support.sim.groups.spec import Spec
from support.sim.node import TOPIC_DEFAULTS, SimNode, new_id
from support.sim.streams import SimNetwork, Weather
from support.sim.violations import Violation

if TYPE_CHECKING:
    from odradek.model.topic_partition import TopicPartition

_TRACE_LINES = 200
_DEFAULTS = replace(TOPIC_DEFAULTS, segment_bytes=64_000)
"""A batch has all members of a group in it, and must fit into a segment."""


class World:
    def __init__(self, seed: int, weather: Weather, config: BrokerConfig) -> None:
        self.rng = Random(seed)
        self.events = Events()
        self.network = SimNetwork(self.events, self.rng, weather)
        self.node = SimNode(self.events, self.rng, self.network, config, _DEFAULTS)
        self.node.note = self.note
        self.admin = Admin(self.events, self.network, self.node)
        self.broker = Broker(self.events, self.node)
        self.consumers: list[Consumer] = []
        """All that are alive, paused or cut off though they may be, in the order in which they started."""
        self.assigned_over: dict[tuple[str, int], frozenset[TopicPartition]] = {}
        """By group and generation: what the leader looked at when it assigned."""
        self.trace: deque[str] = deque(maxlen=_TRACE_LINES)

    def new_id(self) -> str:
        return new_id(self.rng)

    def start(self, spec: Spec) -> Consumer:
        consumer = ClassicConsumer(self, spec) if spec.is_classic else ModernConsumer(self, spec)
        self.consumers.append(consumer)
        consumer.start()
        return consumer

    def of_group(self, group_id: str) -> list[Consumer]:
        return [each for each in self.consumers if each.spec.group_id == group_id]

    def note(self, text: str) -> None:
        self.trace.append(f"{self.events.now_ms:8} {text}")

    # --- what consumers tell

    def owned(self, consumer: Consumer) -> None:
        """A consumer thinks otherwise now about what it owns."""
        if not consumer.process.is_alive and consumer in self.consumers:
            self.consumers.remove(consumer)
            self.note(f"{consumer.spec.name} is gone")
        for checker in self.broker.checkers:
            checker.owned(consumer)

    def assigned(self, leader: ClassicConsumer) -> None:
        assert leader.assigned_over is not None
        self.assigned_over[leader.spec.group_id, leader.epoch] = leader.assigned_over

    def unexpected(self, consumer: Consumer, error: ErrorCode) -> None:
        raise Violation(f"{consumer.spec.name} of {consumer.spec.group_id} was told {error.name}")
