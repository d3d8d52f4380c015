"""What goes wrong on the way: events that come late, or out of order, or broken, each with a reason that is known."""

import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from odradek.pipelines.contract import (
    FUTURE_MS,
    LATE_MS,
    OPERATION,
    POSITION,
    TIME,
    TRUCKS_GPS,
    Form,
    Reason,
    json_text,
    time_ms,
    time_text,
)
from odradek.pipelines.simulation.event import Event

_USUAL_MS = 400
_LATER_MS_MAX = 300_000

Breakage = Callable[[Random, Form, dict[str, Any]], tuple[bytes | None, str]]
"""A value and the reason for which it must be refused, of the fields of a good event."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Shares of all events. Delayed ones come out of order and still count; late ones count no more."""

    delayed: float = 0.05
    late: float = 0.01
    broken: float = 0.01

    def on(self, events: Iterable[Event], rng: Random) -> Iterator[Event]:
        """The events, in the order in which they are sent."""
        waiting: list[tuple[int, int, Event]] = []
        for number, event in enumerate(events):
            while waiting and waiting[0][0] <= event.time_ms:
                yield heapq.heappop(waiting)[2]
            sent = self._spoil(rng, event)
            heapq.heappush(waiting, (sent.sent_ms, number, sent))
        while waiting:
            yield heapq.heappop(waiting)[2]

    def _spoil(self, rng: Random, event: Event) -> Event:
        chance = rng.random()
        usual_ms = event.time_ms + rng.randrange(_USUAL_MS)
        if chance < self.broken:
            value, reason = _broken(rng, event)
            return replace(event, value=value, reason=reason, sent_ms=usual_ms)
        if chance < self.broken + self.late:
            late_ms = event.time_ms + LATE_MS + 1 + rng.randrange(_LATER_MS_MAX)
            return replace(event, reason=Reason.LATE, sent_ms=late_ms)
        if chance < self.broken + self.late + self.delayed:
            return replace(event, sent_ms=event.time_ms + rng.randrange(LATE_MS + 1))
        return replace(event, sent_ms=usual_ms)


def _broken(rng: Random, event: Event) -> tuple[bytes | None, str]:
    if event.value is None:
        raise ValueError("an event without a value cannot be broken")
    form = POSITION if event.topic == TRUCKS_GPS else OPERATION
    return rng.choice(_BREAKAGES)(rng, form, json.loads(event.value))


def _without_value(_rng: Random, _form: Form, _told: dict[str, Any]) -> tuple[bytes | None, str]:
    return None, Reason.EMPTY


def _cut_off(rng: Random, _form: Form, told: dict[str, Any]) -> tuple[bytes | None, str]:
    text = json_text(told)
    return text[: rng.randrange(1, len(text))].encode(), Reason.NOT_JSON


def _not_text(rng: Random, _form: Form, _told: dict[str, Any]) -> tuple[bytes | None, str]:
    return b"\xff\xfe" + rng.randbytes(12), Reason.NOT_JSON


def _without_field(rng: Random, form: Form, told: dict[str, Any]) -> tuple[bytes | None, str]:
    name = rng.choice([*(field.name for field in form.fields), TIME])
    del told[name]
    return json_text(told).encode(), Reason.of_field(Reason.MISSING, name)


def _of_wrong_type(rng: Random, form: Form, told: dict[str, Any]) -> tuple[bytes | None, str]:
    name = rng.choice([field.name for field in form.fields if field.type is not str])
    told[name] = rng.choice(["fast", [1, 2], {"value": 1}, True])
    return json_text(told).encode(), Reason.of_field(Reason.WRONG_TYPE, name)


def _with_bad_time(rng: Random, _form: Form, told: dict[str, Any]) -> tuple[bytes | None, str]:
    told[TIME] = rng.choice(["yesterday", "2026-02-30T08:00:00.000Z", told[TIME].removesuffix("Z"), ""])
    return json_text(told).encode(), Reason.BAD_TIME


def _out_of_range(rng: Random, form: Form, told: dict[str, Any]) -> tuple[bytes | None, str]:
    field = rng.choice([field for field in form.fields if field.most is not None])
    told[field.name] = field.type(-1_000_000)
    return json_text(told).encode(), Reason.of_field(Reason.OUT_OF_RANGE, field.name)


def _in_future(rng: Random, _form: Form, told: dict[str, Any]) -> tuple[bytes | None, str]:
    # A record is sent a little after its event: the time is far enough ahead of both.
    ahead_ms = _USUAL_MS + FUTURE_MS + 1 + rng.randrange(365 * 86_400_000)
    told[TIME] = time_text(time_ms(told[TIME]) + ahead_ms)
    return json_text(told).encode(), Reason.FUTURE


_BREAKAGES: tuple[Breakage, ...] = (
    _without_value,
    _cut_off,
    _not_text,
    _without_field,
    _of_wrong_type,
    _with_bad_time,
    _out_of_range,
    _in_future,
)
