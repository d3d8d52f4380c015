"""Results as they are in their topics, read once into values. The topics are described in docs/pipelines.md."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

TRUCKS_GPS = "trucks_gps"
TRUCK_POSITIONS = "truck_positions"
DRIVER_ALERTS = "driver_alerts"
ACTIVE_CENTRES = "active_centres"
ACTIVE_USERS = "active_users"
LATENCY_TRENDS = "latency_trends"
LATENCY_ANOMALIES = "latency_anomalies"
DEAD_LETTERS = "dead_letters"
PIPELINE_PROGRESS = "pipeline_progress"

_LATE_MS, _FUTURE_MS = 120_000, 60_000
"""A position counts if its record was written so long after it, or before it, at most."""


class BadRow(Exception):
    """A value that is not what its topic is said to have."""


@dataclass(frozen=True, slots=True)
class Position:
    truck: str
    driver: str
    time_ms: int
    latitude: float
    longitude: float
    speed_kmh: float


@dataclass(frozen=True, slots=True)
class Alert:
    driver: str
    truck: str
    since_ms: int
    exceeded_ms: int


@dataclass(frozen=True, slots=True)
class Activity:
    """Of all data centres in a window."""

    start_ms: int
    end_ms: int
    centres: int
    tenants: int
    users: int
    events: int


@dataclass(frozen=True, slots=True)
class CentreUsers:
    centre: str
    start_ms: int
    end_ms: int
    users: int


@dataclass(frozen=True, slots=True)
class Trend:
    centre: str
    start_ms: int
    end_ms: int
    events: int
    errors: int
    per_second: float
    p50_us: int
    p95_us: int
    p99_us: int


@dataclass(frozen=True, slots=True)
class Mean:
    """Of the latencies of a window. While there is too little before it, it has no band."""

    centre: str
    start_ms: int
    mean_us: int
    band_us: tuple[int, int] | None
    is_anomaly: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """What a job said last. Before its first batch there are no figures."""

    job: str
    state: str
    time_ms: int
    batch: int | None
    rows: int | None
    rows_per_second: float | None
    batch_ms: int | None
    lag: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Letter:
    reason: str


Row = Position | Alert | Activity | CentreUsers | Trend | Mean | Progress | Letter


def read_row(topic: str, value: bytes | None, written_ms: int) -> Row:
    """Raises BadRow."""
    try:
        fields = json.loads(value or b"")
        row = _READERS[topic](fields)
        if topic == TRUCKS_GPS:
            _check_event(row, written_ms)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRow(f"{topic}: {error}") from None
    return row


def _check_event(row: Any, written_ms: int) -> None:
    """Results are right, but events may be anything."""
    if not -_FUTURE_MS <= written_ms - row.time_ms <= _LATE_MS:
        raise ValueError("late, or in the future")
    if not (-90 <= row.latitude <= 90 and -180 <= row.longitude <= 180 and 0 <= row.speed_kmh <= 250):
        raise ValueError("out of range")


def _ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {text}")
    return round(moment.timestamp() * 1000)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is no number")
    return value


def _position(fields: Mapping[str, Any]) -> Position:
    return Position(
        str(fields["truck"]),
        str(fields["driver"]),
        _ms(fields["time"]),
        _number(fields["latitude"]),
        _number(fields["longitude"]),
        _number(fields["speed_kmh"]),
    )


def _alert(fields: Mapping[str, Any]) -> Alert:
    return Alert(str(fields["driver"]), str(fields["truck"]), _ms(fields["since"]), _ms(fields["exceeded"]))


def _activity(fields: Mapping[str, Any]) -> Activity:
    counts = (int(fields[name]) for name in ("centres", "tenants", "users", "events"))
    return Activity(_ms(fields["window_start"]), _ms(fields["window_end"]), *counts)


def _centre_users(fields: Mapping[str, Any]) -> CentreUsers:
    window = _ms(fields["window_start"]), _ms(fields["window_end"])
    return CentreUsers(str(fields["centre"]), *window, int(fields["users"]))


def _trend(fields: Mapping[str, Any]) -> Trend:
    return Trend(
        str(fields["centre"]),
        _ms(fields["window_start"]),
        _ms(fields["window_end"]),
        int(fields["events"]),
        int(fields["errors"]),
        float(fields["per_second"]),
        int(fields["p50_us"]),
        int(fields["p95_us"]),
        int(fields["p99_us"]),
    )


def _mean(fields: Mapping[str, Any]) -> Mean:
    band = (int(fields["low_us"]), int(fields["high_us"])) if "low_us" in fields else None
    start_ms = _ms(fields["window_start"])
    return Mean(str(fields["centre"]), start_ms, int(fields["mean_us"]), band, bool(fields["anomaly"]))


def _progress(fields: Mapping[str, Any]) -> Progress:
    return Progress(
        str(fields["job"]),
        str(fields["state"]),
        _ms(fields["time"]),
        fields.get("batch"),
        fields.get("rows"),
        fields.get("rows_per_second"),
        fields.get("batch_ms"),
        fields.get("lag"),
        fields.get("reason"),
    )


def _letter(fields: Mapping[str, Any]) -> Letter:
    return Letter(str(fields["reason"]))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Row]] = {
    TRUCKS_GPS: _position,
    TRUCK_POSITIONS: _position,
    DRIVER_ALERTS: _alert,
    ACTIVE_CENTRES: _activity,
    ACTIVE_USERS: _centre_users,
    LATENCY_TRENDS: _trend,
    LATENCY_ANOMALIES: _mean,
    DEAD_LETTERS: _letter,
    PIPELINE_PROGRESS: _progress,
}
TOPICS = tuple(_READERS)
