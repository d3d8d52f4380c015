"""What happens to applications and to the broker: one thing after the other, by chance, until the churn ends."""

from collections.abc import Callable
from functools import partial

from support.sim.exchange import Ticket
from support.sim.transactions.applications import Alone, Application, Slot
from support.sim.transactions.plan import Plan
from support.sim.transactions.world import World

_PAUSES_MS_MAX = (1_000, 12_000)
_ISOLATED_MS_MAX = 15_000
_DOWN_MS_MAX = 6_000
_BACK_MS_MAX = 4_000
_LOOK_MS = 1_000
_END_TXN = 26
_TOO_MANY_MAX = 4
"""Each that was replaced finds that out when it is given a partition, and takes a session of its group to go."""


class Churn:
    def __init__(self, world: World, plan: Plan, slots: list[Slot]) -> None:
        self._world = world
        self._rng = world.rng
        self._plan = plan
        self._slots = slots
        self._is_over = False
        self._death_chance = 0.0

    def begin(self) -> None:
        self._death_chance = self._plan.death_chance
        self._world.node.died = self._died
        self._world.exchange.asked = self._asked
        for slot in self._slots:
            self._later(self._rng.randrange(2_000), partial(self._start, slot))
        for _ in range(self._plan.kills):
            self._later(self._rng.randrange(self._plan.churn_ms), self._kill)
        self._go_on()
        self._look_after()

    def end(self) -> None:
        """Everybody runs on and can reach everybody. Who cannot go on comes back."""
        self._is_over = True
        self._world.calm_down()
        self._death_chance = 0.0
        for application in list(self._world.applications):  # one that goes on may be gone at once
            application.heal()
            application.process.resume()
        if not self._world.node.is_up:
            self._world.node.start()

    def _look_after(self) -> None:
        """Applications that gave up are started again, also after the churn."""
        for slot in self._slots:
            if slot.current is None and self._rng.random() < 0.5:
                self._world.start(slot)
        self._world.events.after(_LOOK_MS, self._look_after)

    def _go_on(self) -> None:
        self._later(int(self._rng.expovariate(1 / self._plan.gap_ms)) + 1, self._happen)

    def _later(self, delay_ms: int, call: Callable[[], None]) -> None:
        """Not at all, where the churn is over by then."""
        self._world.events.after(delay_ms, lambda: None if self._is_over else call())

    def _happen(self) -> None:
        self._go_on()
        if not self._world.applications:
            return
        application = self._rng.choice(self._world.applications)
        kinds = (
            *(partial(self._crash, application),) * 3,
            *(partial(self._pause, application),) * 3,
            *(partial(self._replace, application),) * 2,
            *(partial(self._cut, application),) * 2,
            partial(self._lose, application),
            *(partial(self._isolate, application),) * 3,
        )
        self._rng.choice(kinds)()

    def _start(self, slot: Slot) -> None:
        if slot.current is None:
            self._world.start(slot)

    def _crash(self, application: Application) -> None:
        self._world.note(f"{application.name} crashes")
        application.crash()
        if not isinstance(application, Alone) and self._rng.random() < 0.5:
            application.slot.take_another_id()  # nobody but time ends what it has left open
        self._later(self._rng.randrange(_BACK_MS_MAX), partial(self._start, application.slot))

    def _pause(self, application: Application) -> None:
        pause_ms = self._rng.randrange(self._rng.choice(_PAUSES_MS_MAX))
        self._world.note(f"{application.name} pauses for {pause_ms} ms")
        application.process.pause()
        self._later(pause_ms, application.process.resume)

    def _replace(self, application: Application) -> None:
        """Another one takes its place, and its transactional id. It runs on, or is paused and back when that has
        begun."""
        if len(self._world.applications) > len(self._slots) + _TOO_MANY_MAX:
            return
        if self._rng.random() < 0.6:
            self._pause(application)
        self._world.note(f"{application.name} has a successor")
        self._world.start(application.slot)

    def _cut(self, application: Application) -> None:
        cut_ms = self._rng.randrange(self._rng.choice(_PAUSES_MS_MAX))
        self._world.note(f"{application.name} is cut off for {cut_ms} ms")
        application.cut()
        self._later(cut_ms, application.heal)

    def _isolate(self, application: Application) -> None:
        """It cannot reach its group, which goes on without it. All else it can, and knows of nothing."""
        if isinstance(application, Alone):
            return
        cut_ms = self._rng.randrange(_ISOLATED_MS_MAX)  # its session may end meanwhile
        self._world.note(f"{application.name} cannot reach its group for {cut_ms} ms")
        application.line.cut()
        self._later(cut_ms, application.line.heal)

    def _lose(self, application: Application) -> None:
        self._world.note(f"{application.name} loses its connections")
        application.work.lines.lose()

    # --- the broker

    def _kill(self) -> None:
        self._world.node.kill()

    def _asked(self, ticket: Ticket) -> None:
        """The node may die in one of the writes that end a transaction."""
        if ticket.api_key == _END_TXN and self._rng.random() < self._death_chance:
            self._world.node.disk.die_at(self._rng.randint(1, 12))

    def _died(self, _how: str) -> None:
        down_ms = self._rng.choice((200, _DOWN_MS_MAX))
        start = partial(self._start_broker, self._world.node.life)
        self._world.events.after(self._rng.randrange(down_ms), start)  # a death may come later than the churn ends

    def _start_broker(self, life: int) -> None:
        if self._world.node.life == life and not self._world.node.is_up:
            self._world.note("the node starts")
            self._world.node.start()
