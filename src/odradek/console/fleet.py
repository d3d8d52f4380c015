"""Trucks, where they have been, and drivers who should have stopped."""

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TypeVar

from odradek.console.rows import Alert, Position

T = TypeVar("T")

MOVING_KMH = 1.0
"""A truck at this speed or above is driven."""
TRUCKS_MAX = 2_000
"""Beyond it, those that were not heard of for the longest time are forgotten."""
ALERTS_MAX = 100
TRAIL_POINTS = 40
POINTS_KEPT = 160
"""Of a truck: events may be ahead of the job by those that are not in its trail yet."""
TRAIL_MS = 60_000
"""A trail has a point for this time, at most."""


@dataclass(frozen=True, slots=True)
class Overtime:
    """Somebody who drove too long, and how long. It goes on until the truck is seen standing."""

    alert: Alert
    until_ms: int
    goes_on: bool

    @property
    def over_ms(self) -> int:
        return max(0, self.until_ms - self.alert.exceeded_ms)


@dataclass(frozen=True, slots=True)
class Truck:
    at: Position
    trail: tuple[Position, ...]
    """From the oldest on, without where it is now."""
    is_overtime: bool
    is_result: bool = True
    """Else nothing is known of it but what it told itself: the job has not come that far."""


class Fleet:
    def __init__(self) -> None:
        self._latest: OrderedDict[str, Position] = OrderedDict()
        self._heard: OrderedDict[str, Position] = OrderedDict()
        self._trails: OrderedDict[str, deque[Position]] = OrderedDict()
        self._overtimes: OrderedDict[tuple[str, int], Overtime] = OrderedDict()

    def pass_by(self, event: Position) -> None:
        """A position as a truck told it: what trails are made of."""
        trail = self._trails.setdefault(event.truck, deque(maxlen=POINTS_KEPT))
        if not trail or event.time_ms - trail[-1].time_ms >= TRAIL_MS:
            trail.append(event)
        if event.truck not in self._heard or self._heard[event.truck].time_ms < event.time_ms:
            self._heard[event.truck] = event
        _keep_newest(self._trails, event.truck, TRUCKS_MAX)
        _keep_newest(self._heard, event.truck, TRUCKS_MAX)

    def place(self, position: Position) -> None:
        """The latest position of a truck."""
        self._latest[position.truck] = position
        _keep_newest(self._latest, position.truck, TRUCKS_MAX)
        for key, overtime in self._overtimes.items():
            if overtime.goes_on and overtime.alert.truck == position.truck:
                self._overtimes[key] = _gone_on(overtime, position)

    def warn(self, alert: Alert) -> None:
        overtime = Overtime(alert, alert.exceeded_ms, goes_on=True)
        latest = self._latest.get(alert.truck)
        key = (alert.driver, alert.since_ms)
        self._overtimes[key] = overtime if latest is None else _gone_on(overtime, latest)
        while len(self._overtimes) > ALERTS_MAX:
            self._overtimes.pop(min(self._overtimes, key=lambda each: self._overtimes[each].alert.exceeded_ms))

    def trucks(self) -> tuple[Truck, ...]:
        overtime = {each.alert.truck for each in self._overtimes.values() if each.goes_on}
        placed = [Truck(at, self._trail(at), name in overtime) for name, at in self._latest.items()]
        heard = [(name, at) for name, at in self._heard.items() if name not in self._latest]
        room = TRUCKS_MAX - len(placed)
        told = [Truck(at, self._trail(at), name in overtime, is_result=False) for name, at in heard[:room]]
        return tuple(sorted([*placed, *told], key=lambda truck: truck.at.truck))

    def overtimes(self) -> tuple[Overtime, ...]:
        """The newest first."""
        return tuple(sorted(self._overtimes.values(), key=lambda each: -each.alert.exceeded_ms))

    def _trail(self, at: Position) -> tuple[Position, ...]:
        """Up to where the truck is: events may be ahead of the job that makes results of them."""
        passed = [each for each in self._trails.get(at.truck, ()) if each.time_ms < at.time_ms]
        return tuple(passed[-TRAIL_POINTS:])


def _gone_on(overtime: Overtime, position: Position) -> Overtime:
    if position.time_ms <= overtime.until_ms:
        return overtime
    return Overtime(overtime.alert, position.time_ms, goes_on=position.speed_kmh >= MOVING_KMH)


def _keep_newest(kept: "OrderedDict[str, T]", newest: str, most: int) -> None:
    kept.move_to_end(newest)
    while len(kept) > most:
        kept.popitem(last=False)
