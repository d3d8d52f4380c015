"""The results of the jobs against the truth."""

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from odradek.demo.reading import Fields, Row
from odradek.pipelines.contract import AnomalyRule, Windows
from odradek.pipelines.registry import JOBS
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_enriched, true_trends, true_users

Results = Counter[Hashable]
"""How often each is there. Of a table, every key has one."""

_PLACE = ("topic", "partition", "offset")


@dataclass(frozen=True, slots=True)
class Outcome:
    job: str
    expected: int
    found: int
    missing: Results
    unexpected: Results

    @property
    def differences(self) -> int:
        """A row that is there with other fields is missing and unexpected, and counts once."""
        return max(self.missing.total(), self.unexpected.total())

    def examples(self) -> list[str]:
        """One of what is missing, and one of what should not be there."""
        kinds = (("missing", self.missing), ("unexpected", self.unexpected))
        return [f"{kind} {next(iter(results))}" for kind, results in kinds if results]


def compare(rows: Mapping[str, Sequence[Row]], truth: Mapping[str, Results]) -> list[Outcome]:
    """`rows` has what was found in each result topic."""
    outcomes = []
    for job in JOBS.values():
        wanted, found = truth[job.name], _FOUND[job.name](rows[job.result])
        outcomes.append(Outcome(job.name, wanted.total(), found.total(), wanted - found, found - wanted))
    return outcomes


def truth_of(events: Sequence[Event], plans: Sequence[Event]) -> dict[str, Results]:
    """What every job must give where these events were written, and no others."""
    windows = Windows()
    return {
        "truck-positions": _rows(true_positions(events).items()),
        "driver-alerts": _rows(true_alerts(events)),
        "active-centres": _rows(true_centres(events, windows).items()),
        "active-users": _rows(true_users(events, windows).items()),
        "latency-trends": _rows(true_trends(events, windows).items()),
        "latency-anomalies": _rows(true_anomalies(events, AnomalyRule()).items()),
        "operations-with-plan": Counter[Hashable](true_enriched(events, plans).elements()),
        "dead-letters": Counter(
            (event.key, event.reason, event.topic, event.value or b"") for event in events if event.reason is not None
        ),
    }


def _rows(rows: Iterable[Row]) -> Results:
    return Counter((key, _frozen(fields)) for key, fields in rows)


def _table(rows: Iterable[Row]) -> Results:
    """The last row of a key counts."""
    return _rows(dict(rows).items())


def _enriched(rows: Iterable[Row]) -> Results:
    """Written at least once: what comes twice has the same place."""
    by_place = {tuple(fields.get(name) for name in _PLACE): fields for _, fields in rows}
    return Counter(
        _frozen({name: value for name, value in fields.items() if name not in _PLACE}) for fields in by_place.values()
    )


def _dead_letters(rows: Iterable[Row]) -> Results:
    return Counter((key, fields.get("reason"), fields.get("topic"), _bytes(fields)) for key, fields in rows)


def _bytes(fields: Fields) -> bytes | str:
    text = fields.get("value_base64", "")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return str(text)


def _frozen(fields: Fields) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(fields.items()))


_FOUND: Mapping[str, Callable[[Iterable[Row]], Results]] = {
    "truck-positions": _table,
    "driver-alerts": _rows,
    "active-centres": _table,
    "active-users": _table,
    "latency-trends": _table,
    "latency-anomalies": _table,
    "operations-with-plan": _enriched,
    "dead-letters": _dead_letters,
}
