"""Results, and the events that count for them."""

import json
from collections.abc import Iterable
from typing import Any

from odradek.pipelines.contract import TIME, TRUCKS_GPS, time_ms
from odradek.pipelines.simulation.event import Event

Fields = dict[str, Any]
Table = dict[str, Fields]
"""By key."""


def good_positions(events: Iterable[Event]) -> list[Fields]:
    return [_fields(event) for event in events if event.reason is None and event.topic == TRUCKS_GPS]


def good_operations(events: Iterable[Event]) -> list[Fields]:
    return [_fields(event) for event in events if event.reason is None and event.topic.startswith("operations_")]


def moment(fields: Fields) -> int:
    return time_ms(fields[TIME])


def _fields(event: Event) -> Fields:
    if event.value is None:
        raise ValueError(f"an event of {event.topic} without a value is not good")
    told: Fields = json.loads(event.value)
    return told
