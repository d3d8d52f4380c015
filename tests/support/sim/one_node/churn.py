"""What happens to the machine: one disaster after the other, by chance, until the churn ends."""

from collections.abc import Callable, Sequence
from functools import partial

from support.disk import Fault, Op
from support.sim.node import DATA
from support.sim.one_node.plan import Disaster, Plan
from support.sim.process import Process
from support.sim.transactions.world import World

_DOWN_MS_MAX = 5_000
_TROUBLE_MS_MAX = 8_000
_WRITES_MAX = 60
_SLOW_MS_MAX = 1_500
_AFTER_MS = 20_000
_ROOM_BYTES_MAX = 20_000
_JUMP_MS_MAX = 3_000_000
"""Less than the hour by which records may be ahead of the clock."""
_FAILING = (Op.WRITE, Op.SYNC, Op.SYNC_DIR, Op.CREATE, Op.RENAME)


class Churn:
    def __init__(self, world: World, plan: Plan, clients: Sequence[Process]) -> None:
        self._world = world
        self._node = world.node
        self._rng = world.rng
        self._plan = plan
        self._clients = clients
        self._is_over = False
        self._slow_until_ms = 0
        self._job_ms_max = self._node.job_ms_max
        self._acts: dict[Disaster, Callable[[], None]] = {
            Disaster.KILL: self._node.kill,
            Disaster.DEATH_IN_A_WRITE: lambda: self._node.disk.die_at(self._rng.randint(1, _WRITES_MAX)),
            Disaster.POWER_LOSS: self._node.lose_power,
            Disaster.CLEAN_STOP: self._node.stop,
            Disaster.FULL_DISK: self._fill_disk,
            Disaster.FAILING_DISK: self._break_disk,
            Disaster.SLOW_DISK: self._slow_down,
            Disaster.CLOCK_JUMP: lambda: self._node.clock.jump(self._rng.randint(-_JUMP_MS_MAX, _JUMP_MS_MAX)),
            Disaster.CUT_LINK: self._cut,
        }

    @property
    def was_slow(self) -> bool:
        """Whether requests may still wait for what a slow disk has to do."""
        return self._world.events.now_ms < self._slow_until_ms

    def begin(self) -> None:
        self._go_on()

    def end(self) -> None:
        """The machine is sound and the node runs."""
        self._is_over = True
        self._heal_disk()
        self._world.calm_down()
        for client in self._clients:
            for host in client.hosts:
                self._world.network.heal(host.name, self._node.host.name)
        self._start(self._node.life)

    def died(self) -> None:
        """The node is to be started again."""
        delay_ms = self._rng.randrange(self._rng.choice((200, _DOWN_MS_MAX)))
        self._world.events.after(delay_ms, partial(self._start, self._node.life))

    def _start(self, life: int) -> None:
        if self._node.life == life and not self._node.is_up:
            self._world.note("the node starts")
            self._node.start()

    def _go_on(self) -> None:
        delay_ms = int(self._rng.expovariate(1 / self._plan.gap_ms)) + 1
        self._world.events.after(delay_ms, self._happen)

    def _happen(self) -> None:
        if self._is_over:
            return
        self._go_on()
        disaster = self._rng.choice(self._plan.disasters)
        if self._node.is_up:
            self._world.note(disaster.value)
            self._acts[disaster]()

    def _later(self, call: Callable[[], None]) -> None:
        self._world.events.after(self._rng.randrange(_TROUBLE_MS_MAX), call)

    def _fill_disk(self) -> None:
        self._node.is_faulty = True
        disk = self._node.disk
        disk.set_capacity(disk.used(DATA) + self._rng.randrange(_ROOM_BYTES_MAX), DATA)
        self._later(self._heal_disk)

    def _break_disk(self) -> None:
        self._node.is_faulty = True
        after = self._rng.randrange(20)
        self._node.disk.inject(Fault(self._rng.choice(_FAILING), after=after, times=self._rng.choice((1, 3, None))))
        self._later(self._heal_disk)

    def _heal_disk(self) -> None:
        """A node that ran into trouble may still find out: `is_faulty` stays as it is."""
        self._node.disk.set_capacity(None, DATA)
        self._node.disk.heal()
        self._node.job_ms_max = self._job_ms_max

    def _slow_down(self) -> None:
        self._node.job_ms_max = self._rng.randint(50, _SLOW_MS_MAX)
        self._slow_until_ms = self._world.events.now_ms + _TROUBLE_MS_MAX + _AFTER_MS
        self._later(self._heal_disk)

    def _cut(self) -> None:
        (host,) = self._rng.choice(self._clients).hosts
        self._world.network.cut(host.name, self._node.host.name)
        self._later(partial(self._world.network.heal, host.name, self._node.host.name))
