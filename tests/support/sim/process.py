"""A process that can be stopped for a while, as by SIGSTOP, or for good."""

from collections import deque
from collections.abc import Callable
from functools import partial

from support.sim.events import Events
from support.sim.streams import SimHost, SimNetwork, Weather


class Process:
    """What happens to it goes through `run`: it waits while the process is paused, and is lost once that is dead."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.hosts: list[SimHost] = []
        self.is_alive = True
        self.is_paused = False
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def now_ms(self) -> int:
        return self._events.now_ms

    def host(self, network: SimNetwork, name: str, weather: Callable[[], Weather] | None = None) -> SimHost:
        """Its own, from which it reaches others."""
        made = network.host(name, self.run, weather)
        self.hosts.append(made)
        return made

    def later(self, delay_ms: int, call: Callable[[], None]) -> None:
        self._events.after(delay_ms, partial(self.run, call))

    def run(self, call: Callable[[], None]) -> None:
        if not self.is_alive:
            return
        if self.is_paused:
            self._waiting.append(call)
        else:
            call()

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        """Does first what it missed, in order."""
        self.is_paused = False
        while self._waiting and self.is_alive and not self.is_paused:
            self._waiting.popleft()()

    def die(self) -> None:
        self.is_alive = False
        self._waiting.clear()
        for host in self.hosts:
            host.reset()
