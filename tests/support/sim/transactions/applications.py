"""Applications: those that have their partitions for themselves, and members of groups of both protocols."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from odradek.model.topic_partition import TopicPartition
from support.sim.groups import requests
from support.sim.groups.classic import ClassicConsumer
from support.sim.groups.consumer import Claim, Consumer
from support.sim.groups.modern import ModernConsumer
from support.sim.groups.spec import LATEST, Protocol, Spec
from support.sim.process import Process
from support.sim.script import Script, ask, pause, perform
from support.sim.transactions.flow import Flow
from support.sim.transactions.lines import Lines
from support.sim.transactions.stage import Stage
from support.sim.transactions.work import Tools, Work

if TYPE_CHECKING:
    from support.sim.groups.world import World as GroupsWorld
    from support.sim.transactions.world import World

_TIMEOUT_MS = 2_000
_AGAIN_MS = 100
_NOBODY = Claim("", -1)


class Alone:
    """Reads its partitions whoever else does. An older one of the same transactional id is fenced when this begins."""

    def __init__(self, world: "World", slot: "Slot", name: str) -> None:
        self.world = world
        self.name = name
        self.slot = slot
        self.process = Process(world.events)
        lines = Lines(world.host_of(self.process, f"{name} works", slot.flow), self.process, slot.transactional_id)
        self.positions: dict[TopicPartition, int | None] = dict.fromkeys(slot.partitions)
        self.work = Work(world, name, slot.stage, self, Tools(self.process, lines, slot.flow))
        self._spec = _spec_of(slot, name)

    def start(self) -> None:
        self.work.lines.open()
        perform(self.work.live())

    def crash(self) -> None:
        self.work.lines.lose()
        self.process.die()
        self.world.gone(self)

    def cut(self) -> None:
        self.work.lines.cut()

    def heal(self) -> None:
        self.work.lines.heal()

    def claim(self) -> Claim:
        return _NOBODY

    def may_begin(self) -> bool:
        return True

    def learn(self) -> Script[None]:
        while unknown := [place for place, at in self.positions.items() if at is None]:
            request = requests.fetch(self._spec, _NOBODY, unknown, self.world.admin.image)
            response = yield from ask(self.work.lines.groups, request, self._spec.versions.fetch, _TIMEOUT_MS)
            if response is not None:
                found = requests.fetched(response, self.world.admin.image)
                self.positions.update({place: max(at, 0) for place, at in found.items()})
            if any(at is None for at in self.positions.values()):
                yield from pause(self.process, _AGAIN_MS)


class _Member(Consumer):
    """What applications that are members of a group have in common: in place of commits there are transactions."""

    def __init__(self, world: "World", slot: "Slot", name: str) -> None:
        super().__init__(cast("GroupsWorld", world), _spec_of(slot, name))
        self.name = name
        self.slot = slot
        lines = Lines(world.host_of(self.process, f"{name} works", slot.flow), self.process, slot.transactional_id)
        self.work = Work(world, name, slot.stage, self, Tools(self.process, lines, slot.flow))

    def start(self) -> None:
        super().start()
        self.work.lines.open()
        perform(self.work.live())

    def crash(self) -> None:
        self.work.lines.lose()
        super().crash()

    def cut(self) -> None:
        self.line.cut()
        self.work.lines.cut()

    def heal(self) -> None:
        self.line.heal()
        self.work.lines.heal()

    def may_begin(self) -> bool:
        """Not while a rebalance waits for the end of the last transaction."""
        return self.claim() is not None and self.is_at_rest() and not self.is_closing

    def learn(self) -> Script[None]:
        """It does so while it polls."""
        yield from ()

    def _go_on(self) -> None:
        if any(position is None for position in self.positions.values()):
            self._fetch_offsets()

    def _commit(self, partitions: Iterable[TopicPartition], then: Callable[[], None]) -> None:
        del partitions
        self.work.when_done(then)

    def _own(self, partitions: Iterable[TopicPartition]) -> None:
        kept = frozenset(partitions)
        for place in self.positions:
            if place not in kept:
                self.work.lost(place)
        super()._own(kept)


class ClassicMember(_Member, ClassicConsumer):
    pass


class ModernMember(_Member, ModernConsumer):
    pass


Application = Alone | ClassicMember | ModernMember


class Slot:
    """A place of an application, which one after the other takes."""

    def __init__(
        self, stage: Stage, transactional_id: str, flow: Flow, partitions: tuple[TopicPartition, ...] = ()
    ) -> None:
        self.stage = stage
        self.transactional_id = transactional_id
        self.flow = flow
        self.partitions = partitions
        """That it reads; of members of a group, none in particular."""
        self.current: Application | None = None
        """Whoever took it last, if that is alive."""

    def take_another_id(self) -> None:
        self.transactional_id += "x"


def application_of(world: "World", slot: Slot, name: str) -> Application:
    if slot.stage.protocol is None:
        return Alone(world, slot, name)
    if slot.stage.protocol is Protocol.CONSUMER:
        return ModernMember(world, slot, name)
    return ClassicMember(world, slot, name)


def _spec_of(slot: Slot, name: str) -> Spec:
    return Spec(
        name=name,
        group_id=slot.stage.group_id,
        protocol=slot.stage.protocol or Protocol.RANGE,
        topics=(slot.stage.source,),
        versions=replace(LATEST, fetch=9),
        session_ms=4_000,
        heartbeat_ms=1_000,
        poll_max_ms=8_000,
        poll_ms=200,
    )
