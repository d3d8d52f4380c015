"""The contract of the data: topics, the fields of events, and when an event counts.

Simulators, jobs, and whoever reads the results agree on this module alone. It imports no Spark.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

TRUCKS_GPS = "trucks_gps"
TENANT_PLANS = "tenant_plans"
OPERATIONS_PATTERN = "^operations_[a-z]+_g[0-9]+$"

TRUCK_POSITIONS = "truck_positions"
DRIVER_ALERTS = "driver_alerts"
ACTIVE_CENTRES = "active_centres"
ACTIVE_USERS = "active_users"
LATENCY_TRENDS = "latency_trends"
LATENCY_ANOMALIES = "latency_anomalies"
OPERATIONS_WITH_PLAN = "operations_with_plan"
DEAD_LETTERS = "dead_letters"

PIPELINE_PROGRESS = "pipeline_progress"
"""Compacted: what each job last told of itself, keyed by its name."""

LATE_MS = 120_000
"""An event is late when its record was written more than this after the event's own time."""
FUTURE_MS = 60_000
"""And in the future when its own time is more than this after its record was written."""
APART_MS = 3_600_000
"""Partitions that are read at once may be so far apart. It decides nothing but how much a job remembers."""

TIME = "time"
"""The field of every event that says when it was: ISO-8601 with milliseconds, in UTC."""
TEXT_BYTES_MAX = 1000
"""Of a text and of the key, in UTF-8: so a result is never larger than its topic takes, whatever is sent."""
LETTER_BYTES_MAX = 1 << 20
"""Of the value of a dead letter: of one that is larger, the first bytes are kept."""
MOVING_KMH = 1.0
"""A truck at this speed or above is driven."""


@dataclass(frozen=True, slots=True)
class Field:
    """One that every event of its form has. `least` and `most` are for numbers, and both are allowed."""

    name: str
    type: type[str] | type[int] | type[float]
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an event beside its time, in the order in which they are written."""

    name: str
    fields: tuple[Field, ...]


POSITION = Form(
    "position",
    (
        Field("truck", str),
        Field("driver", str),
        Field("latitude", float, -90.0, 90.0),
        Field("longitude", float, -180.0, 180.0),
        Field("speed_kmh", float, 0.0, 250.0),
    ),
)
OPERATION = Form(
    "operation",
    (
        Field("tenant", str),
        Field("centre", str),
        Field("user", str),
        Field("operation", str),
        Field("status", str),
        Field("latency_us", int, 0, 86_400_000_000),
    ),
)


@dataclass(frozen=True, slots=True)
class DrivingRule:
    """Nobody drives for longer than the limit without a break. A break is a time in which the driver drives nothing."""

    limit_ms: int = 270 * 60_000
    break_ms: int = 45 * 60_000


EUROPEAN_RULE = DrivingRule()


@dataclass(frozen=True, slots=True)
class Windows:
    """Of the tenants' jobs. The slide divides the length; windows begin at multiples of the slide since 1970."""

    active_ms: int = 300_000
    active_slide_ms: int = 60_000
    trend_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class AnomalyRule:
    """A window is one where its mean is further from the mean of the windows before than a number of deviations.

    All of it is in whole microseconds, rounded down, so that everybody gets the same.
    """

    window_ms: int = 60_000
    history: int = 20
    """So many windows before are looked at; those without an event are left out."""
    history_least: int = 5
    """With fewer, nothing is told."""
    deviations: int = 4
    quiet_divisor: int = 20
    """A deviation below the mean divided by this counts as so much: a very even series is no reason for an alarm."""


class Reason:
    """Why an event counts for nothing. Where a field is at fault, or the key, its name follows after a colon."""

    KEY = "key"
    EMPTY = "empty"
    NOT_JSON = "not_json"
    MISSING = "missing"
    WRONG_TYPE = "wrong_type"
    BAD_TIME = "bad_time"
    OUT_OF_RANGE = "out_of_range"
    FUTURE = "future"
    LATE = "late"

    @staticmethod
    def of_field(reason: str, field: str) -> str:
        return f"{reason}:{field}"


def operations_topic(product: str, group: str) -> str:
    return f"operations_{product}_{group}"


def time_text(time_ms: int) -> str:
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03}Z"


def time_ms(text: str) -> int:
    """Of a text as `time_text` makes it."""
    moment = datetime.fromisoformat(text)
    return round(moment.timestamp() * 1000)


def json_text(values: Mapping[str, object]) -> str:
    """As Spark writes it: no spaces, and no field that is null."""
    return json.dumps({name: value for name, value in values.items() if value is not None}, separators=(",", ":"))


def window_key(start_ms: int, *names: str) -> str:
    """The key of a result: a window, and what it is about."""
    return "|".join((time_text(start_ms), *names))
