"""Connections that delay, break and lose, but keep the order of what they deliver, as TCP does.

When one breaks, answers on their way are lost. Requests on their way are lost too, or still come to the server some
time later: after what the client has sent on its next connection, perhaps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Protocol

from support.sim.events import Events
from support.sim.process import Process


class Server(Protocol):
    life: int
    """Counts its starts: a connection is to one life."""

    @property
    def is_up(self) -> bool: ...

    def receive(self, connection: "Connection", frame: bytes) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Weather:
    delay_ms_max: int
    """One way. Most messages are far quicker."""
    break_chance: float
    """For each message: that the connection breaks under it."""
    twice_chance: float
    """For each answer: that it comes a second time."""
    late_ms_max: int = 2_000
    """How late a request may come whose connection broke under it. With 0 it comes before anything else of its client,
    if it comes."""


CALM = Weather(delay_ms_max=5, break_chance=0.0, twice_chance=0.0)


class Network:
    def __init__(self, events: Events, rng: Random, weather: Weather) -> None:
        self.events = events
        self.rng = rng
        self.weather = weather

    def delay_ms(self) -> int:
        return int(self.weather.delay_ms_max * self.rng.random() ** 3) + 1

    def breaks(self) -> bool:
        return self.rng.random() < self.weather.break_chance

    def doubles(self) -> bool:
        return self.rng.random() < self.weather.twice_chance


class Connection:
    """Of a client's process to a server. `received` and `closed` are called in that process."""

    def __init__(
        self,
        network: Network,
        server: Server,
        process: Process,
        received: Callable[[bytes], None],
        closed: Callable[[], None],
    ) -> None:
        self._network = network
        self._server = server
        self._process = process
        self._received = received
        self._closed = closed
        self._life = server.life
        self.is_open = True
        self._coming: dict[int, bytes] = {}
        """Requests on their way."""
        self._sent = 0
        self._last_there_ms = self._last_back_ms = 0

    def send(self, frame: bytes) -> None:
        """To the server."""
        if not self.is_open:
            return
        self._sent += 1
        self._coming[self._sent] = frame
        self._last_there_ms = self._arrival_ms(self._last_there_ms)
        self._network.events.after(self._last_there_ms - self._network.events.now_ms, partial(self._arrive, self._sent))
        if self._network.breaks():
            self.close()

    def reply(self, frame: bytes) -> None:
        """To the client."""
        if not self.is_open:
            return
        self._last_back_ms = self._arrival_ms(self._last_back_ms)
        for _ in range(1 + self._network.doubles()):
            self._network.events.after(
                self._last_back_ms - self._network.events.now_ms, partial(self._process.run, partial(self._take, frame))
            )
        if self._network.breaks():
            self.close()

    def close(self) -> None:
        """It breaks now; the client hears of it a little later."""
        if not self.is_open:
            return
        self.is_open = False
        if self._network.rng.random() < 0.5:
            self._coming.clear()
        else:
            late_ms = self._network.rng.randrange(self._network.weather.late_ms_max + 1)
            self._coming = {-number: frame for number, frame in self._coming.items()}
            for number in self._coming:
                self._network.events.after(late_ms, partial(self._arrive, number))
        self._process.later(self._network.delay_ms(), self._closed)

    def _arrival_ms(self, last_ms: int) -> int:
        return max(last_ms, self._network.events.now_ms + self._network.delay_ms())

    def _arrive(self, number: int) -> None:
        frame = self._coming.pop(number, None)
        if frame is not None and self._server.is_up and self._server.life == self._life:
            self._server.receive(self, frame)

    def _take(self, frame: bytes) -> None:
        if self.is_open:
            self._received(frame)
