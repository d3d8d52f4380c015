"""What clients have used, by whom it is counted for."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from odradek.broker.quotas.limits import Limits, QuotaEntity

KNOWN_MAX = 10_000
"""Clients whose sensor is known without looking for it: past this, all are looked for anew."""


class Sensor(Protocol):
    def set_bound(self, bound: float) -> None: ...

    def is_over(self, now_ms: int) -> bool:
        """Whether it says nothing that a new one would not say."""
        ...


S = TypeVar("S", bound=Sensor)


class Sensors(Generic[S]):
    """One for each who have a limit together, made at first use. Those that have nothing to say are forgotten.

    Kafka forgets them after an hour. That is the same to clients, and with a client id for each connection much more
    to remember.
    """

    def __init__(self, make: Callable[[float], S], span_ms: int) -> None:
        """`span_ms` is how often they are looked through, when clients come that are not known."""
        self._make = make
        self._span_ms = span_ms
        self._limits = Limits({})
        self._sensors: dict[tuple[str, str], S] = {}
        self.known: dict[tuple[str, str | None], S | None] = {}
        """By user and client id, as far as they were asked for: None for those without a limit."""
        self._looked_ms = 0
        self.is_set = False
        """Whether anybody has a limit."""

    def __len__(self) -> int:
        return len(self._sensors)

    def change(self, limits: Limits) -> None:
        """What was used so far counts against the new limits."""
        self._limits = limits
        self.known.clear()
        self.is_set = bool(limits)
        if not limits:
            self._sensors.clear()

    def of(self, client: QuotaEntity, now_ms: int) -> S | None:
        """None for those without a limit."""
        try:
            return self.known[client.user, client.client_id]
        except KeyError:
            return self._find(client, now_ms)

    def _find(self, client: QuotaEntity, now_ms: int) -> S | None:
        self._look_through(now_ms)
        limit = self._limits.of(client.user, client.client_id or "")
        sensor = None
        if limit is not None:
            sensor = self._sensors.get(limit.shared_by)
            if sensor is None:
                sensor = self._sensors[limit.shared_by] = self._make(limit.bound)
            else:
                sensor.set_bound(limit.bound)
        self.known[client.user, client.client_id] = sensor
        return sensor

    def _look_through(self, now_ms: int) -> None:
        is_due = now_ms - self._looked_ms >= self._span_ms
        if is_due or len(self.known) >= KNOWN_MAX:
            self.known.clear()
        if is_due:
            self._looked_ms = now_ms
            self._sensors = {key: sensor for key, sensor in self._sensors.items() if not sensor.is_over(now_ms)}
