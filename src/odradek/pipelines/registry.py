"""Every job by its name, with what it reads and what it writes. It imports no Spark: a list of jobs needs none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from odradek.model.errors import OdradekError
from odradek.pipelines import contract

_DAY_MS = 86_400_000
TABLE = {"cleanup.policy": "compact"}
WINDOWED = {"cleanup.policy": "compact,delete", "retention.ms": str(7 * _DAY_MS)}
"""A table that grows by a row for every window: old windows go."""
LARGE = {"max.message.bytes": str(3 * contract.LETTER_BYTES_MAX)}
"""For a letter with the largest value, a third longer in base64, and the largest key."""
_BEHIND = f"{(contract.LATE_MS + contract.APART_MS) // 60_000} minutes"
_OPERATIONS = {"subscribePattern": contract.OPERATIONS_PATTERN}
_TRUCKS = {"subscribe": contract.TRUCKS_GPS}


class NoSuchJob(OdradekError):
    def __init__(self, name: str) -> None:
        super().__init__(f"no job {name}; there are {', '.join(JOBS)}")


@dataclass(frozen=True, slots=True)
class Job:
    """`function` is `module:name` of a function from DataFrames to one, which is imported when it is needed."""

    name: str
    about: str
    source: Mapping[str, str]
    """The option of the source that says which topics it reads."""
    result: str
    """The topic."""
    key: str
    """What the key of a result is."""
    function: str
    table: str | None = None
    """A compacted topic that the function takes as its second argument."""
    partitions: int = 2
    configs: Mapping[str, str] = field(default_factory=dict)
    watermark: str | None = None
    exactly_once: bool = True

    def load(self) -> Callable[..., Any]:
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"odradek.pipelines.{module}"), name)
        return function


_ALL = (
    Job(
        "truck-positions",
        "the latest position of every truck",
        _TRUCKS,
        contract.TRUCK_POSITIONS,
        "truck",
        "fleet:latest_positions",
        configs=TABLE,
    ),
    Job(
        "driver-alerts",
        "drivers who have driven too long without a break, each time told once",
        _TRUCKS,
        contract.DRIVER_ALERTS,
        "driver",
        "fleet:driving_alerts",
    ),
    Job(
        "active-centres",
        "active data centres, tenants and users in sliding windows",
        _OPERATIONS,
        contract.ACTIVE_CENTRES,
        "window",
        "activity:active_centres",
        configs=WINDOWED,
        watermark=_BEHIND,
    ),
    Job(
        "active-users",
        "active users of every data centre in sliding windows",
        _OPERATIONS,
        contract.ACTIVE_USERS,
        "window and data centre",
        "activity:active_users",
        configs=WINDOWED,
        watermark=_BEHIND,
    ),
    Job(
        "latency-trends",
        "p50, p95, p99 and rate by window and data centre",
        _OPERATIONS,
        contract.LATENCY_TRENDS,
        "window and data centre",
        "latency:latency_trends",
        configs=WINDOWED,
        watermark=_BEHIND,
    ),
    Job(
        "latency-anomalies",
        "means by window and data centre with their moving band, and where they leave it",
        _OPERATIONS,
        contract.LATENCY_ANOMALIES,
        "window and data centre",
        "latency:latency_anomalies",
        configs=WINDOWED,
    ),
    Job(
        "operations-with-plan",
        "operations with the plan of their tenant",
        _OPERATIONS,
        contract.OPERATIONS_WITH_PLAN,
        "tenant group",
        "plans:operations_with_plan",
        table=contract.TENANT_PLANS,
        # A batch that comes again after the table has changed has other rows, which the sink would refuse for ever.
        exactly_once=False,
    ),
    Job(
        "dead-letters",
        "events that count for nothing, with the reason and the place",
        {"subscribePattern": f"^{contract.TRUCKS_GPS}$|{contract.OPERATIONS_PATTERN}"},
        contract.DEAD_LETTERS,
        "that of the event",
        "rejects:dead_letters",
        configs=LARGE,
    ),
)
JOBS = {job.name: job for job in _ALL}


def job_named(name: str) -> Job:
    if name not in JOBS:
        raise NoSuchJob(name)
    return JOBS[name]
