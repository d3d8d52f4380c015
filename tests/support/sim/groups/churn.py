"""What happens to consumers, topics and the broker: one thing after the other, by chance, until the churn ends."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from support.sim.groups.consumer import Consumer
from support.sim.groups.plan import GroupPlan, Plan
from support.sim.groups.spec import Protocol, Spec
from support.sim.groups.world import World
from support.sim.streams import CALM

_PAUSE_MS_MAX = 25_000
"""Two and a half sessions."""
_DOWN_MS_MAX = 15_000


class Churn:
    def __init__(self, world: World, plan: Plan) -> None:
        self._world = world
        self._rng = world.rng
        self._plan = plan
        self._count = 0
        self._ends_ms = 0
        self._is_over = False

    def begin(self) -> None:
        self._ends_ms = self._world.events.now_ms + self._plan.churn_ms
        for group in self._plan.groups:
            for _ in range(group.size):
                self._later(self._rng.randrange(5_000), partial(self._start, group))
        for _ in range(self._plan.kills):
            self._later(self._rng.randrange(self._plan.churn_ms), self._kill)
        self._go_on()

    def end(self) -> None:
        """Everybody runs on and can reach everybody; who is missing stays so."""
        self._is_over = True
        self._world.network.weather = CALM
        for consumer in list(self._world.consumers):  # one that goes on may be gone at once
            consumer.line.heal()
            consumer.process.resume()
            consumer.busy_until_ms = 0
        if not self._world.node.is_up:
            self._world.node.start()

    def grow_once_more(self) -> None:
        """In the calm, where nothing else makes a group look at its topics: each gets a partition, and there is a new
        one."""
        names = self._world.admin.names
        for name in names:
            self._world.admin.grow(name, 1)
        self._world.admin.create(f"topic-{len(names)}", 2)
        self._world.note("all topics get partitions")

    def _go_on(self) -> None:
        self._later(int(self._rng.expovariate(1 / self._plan.gap_ms)) + 1, self._happen)

    def _later(self, delay_ms: int, call: Callable[[], None]) -> None:
        """Not at all, where the churn is over by then."""
        self._world.events.after(delay_ms, lambda: None if self._is_over else call())

    def _happen(self) -> None:
        consumers = self._world.consumers
        kinds: list[Callable[[], None]] = [self._join, self._grow]
        if len(consumers) > self._rng.randrange(sum(group.size for group in self._plan.groups)):
            consumer = self._rng.choice(consumers)
            kinds = [
                *(self._join,) * 4,
                *(partial(self._leave, consumer),) * 3,
                *(partial(self._crash, consumer),) * 2,
                *(partial(self._restart, consumer),) * 4,
                *(partial(self._pause, consumer),) * 3,
                *(partial(self._cut, consumer),) * 2,
                partial(self._lose, consumer),
                *(partial(self._slow_down, consumer),) * 2,
                self._grow,
            ]
        self._rng.choice(kinds)()
        self._go_on()

    # --- consumers

    def _join(self) -> None:
        if len(self._world.consumers) < self._plan.members_max:
            self._start(self._rng.choice(self._plan.groups))

    def _start(self, group: GroupPlan) -> None:
        self._count += 1
        # Where a group moves to the other protocol, the later ones speak it, and in the end the first one again.
        share = self._world.events.now_ms / self._ends_ms
        at = int(share * 2 * len(group.protocols) + self._rng.random()) % len(group.protocols)
        protocol = group.protocols[at]
        is_static = self._rng.random() < group.static_share
        by_pattern = protocol is Protocol.CONSUMER and self._rng.random() < group.regex_share
        spec = Spec(
            name=f"consumer-{self._count}",
            group_id=group.group_id,
            protocol=protocol,
            topics=() if by_pattern else group.topics,
            regex=group.pattern if by_pattern else None,
            instance_id=f"instance-{self._count}" if is_static else None,
            versions=group.versions(self._rng, protocol, is_static=is_static),
            leaves_when_late=self._rng.random() < 0.7,
        )
        self._run(spec)

    def _run(self, spec: Spec) -> None:
        self._world.note(f"{spec.name} of {spec.group_id} starts as {spec.protocol.value}, {spec.instance_id}")
        self._world.start(spec)

    def _leave(self, consumer: Consumer) -> None:
        self._world.note(f"{consumer.spec.name} closes")
        consumer.process.run(consumer.close)

    def _crash(self, consumer: Consumer) -> None:
        self._world.note(f"{consumer.spec.name} crashes")
        consumer.crash()

    def _restart(self, consumer: Consumer) -> None:
        """A static member comes back by the same instance id, whether or not the old process is gone already."""
        self._count += 1
        spec = replace(consumer.spec, name=f"consumer-{self._count}")
        how = self._rng.choice(("crash", "close", "beside"))
        if how == "beside" and spec.instance_id is not None:
            self._world.note(f"{consumer.spec.name} has a successor while it runs")
        elif how == "crash":
            self._crash(consumer)
        else:
            self._leave(consumer)
        self._later(self._rng.randrange(8_000), partial(self._run, spec))

    def _pause(self, consumer: Consumer) -> None:
        pause_ms = self._rng.randrange(_PAUSE_MS_MAX)
        self._world.note(f"{consumer.spec.name} pauses for {pause_ms} ms")
        consumer.process.pause()
        self._later(pause_ms, consumer.process.resume)

    def _cut(self, consumer: Consumer) -> None:
        cut_ms = self._rng.randrange(_PAUSE_MS_MAX)
        self._world.note(f"{consumer.spec.name} is cut off for {cut_ms} ms")
        consumer.line.cut()
        self._later(cut_ms, consumer.line.heal)

    def _lose(self, consumer: Consumer) -> None:
        self._world.note(f"{consumer.spec.name} loses its connection")
        consumer.line.lose()

    def _slow_down(self, consumer: Consumer) -> None:
        """It works on what it has got, and polls late, or too late."""
        slow_ms = self._rng.randrange(2 * consumer.spec.poll_max_ms)
        self._world.note(f"{consumer.spec.name} is busy for {slow_ms} ms")
        consumer.busy_until_ms = self._world.events.now_ms + slow_ms

    # --- topics and the broker

    def _grow(self) -> None:
        names = self._world.admin.names
        if len(names) < 6 and self._rng.random() < 0.3:
            name, count = f"topic-{len(names)}", self._rng.randint(1, 6)
            self._world.note(f"{name} is made with {count} partitions")
            self._world.admin.create(name, count)
        elif self._rng.random() < 0.3:
            name = self._rng.choice(names)
            self._world.note(f"{name} gets partitions")
            self._world.admin.grow(name, self._rng.randint(1, 3))

    def _kill(self) -> None:
        node = self._world.node
        if node.is_up:
            down_ms = self._rng.choice((200, 2_000, _DOWN_MS_MAX))
            node.kill()
            self._later(self._rng.randrange(down_ms), partial(self._start_node, node.life))

    def _start_node(self, life: int) -> None:
        if self._world.node.life == life and not self._world.node.is_up:
            self._world.note("the node starts")
            self._world.node.start()
