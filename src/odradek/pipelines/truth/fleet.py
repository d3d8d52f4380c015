"""The truth about trucks and their drivers."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from odradek.pipelines.contract import EUROPEAN_RULE, MOVING_KMH, DrivingRule, time_text
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.truth.results import Fields, Table, good_positions, moment


def true_positions(events: Iterable[Event]) -> Table:
    ordered = sorted(good_positions(events), key=moment)
    return {fields["truck"]: fields for fields in ordered}


def true_alerts(events: Iterable[Event], rule: DrivingRule = EUROPEAN_RULE) -> list[tuple[str, Fields]]:
    """In the order of drivers and times."""
    driven: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for fields in good_positions(events):
        if fields["speed_kmh"] >= MOVING_KMH:
            driven[fields["driver"]].append((moment(fields), fields["truck"]))
    alerts: list[tuple[str, Fields]] = []
    for driver in sorted(driven):
        moments = sorted(driven[driver])
        begins = [moments[0], *(after for before, after in pairwise(moments) if after[0] - before[0] >= rule.break_ms)]
        for number, (since_ms, truck) in enumerate(begins):
            until = begins[number + 1][0] if number + 1 < len(begins) else None
            last_ms = max(at for at, _ in moments if until is None or at < until)
            if last_ms - since_ms > rule.limit_ms:
                alerts.append((driver, _alert(driver, truck, since_ms, rule)))
    return alerts


def _alert(driver: str, truck: str, since_ms: int, rule: DrivingRule) -> Fields:
    return {
        "driver": driver,
        "truck": truck,
        "since": time_text(since_ms),
        "exceeded": time_text(since_ms + rule.limit_ms),
        "limit_minutes": rule.limit_ms // 60_000,
    }
