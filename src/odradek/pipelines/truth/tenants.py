"""The truth about data centres, their users, and how long they take."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor, isqrt

from odradek.pipelines.contract import TENANT_PLANS, AnomalyRule, Windows, time_text, window_key
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.truth.results import Fields, Table, good_operations, moment

_QUANTILES = (("p50_us", Fraction(1, 2)), ("p95_us", Fraction(95, 100)), ("p99_us", Fraction(99, 100)))


def true_centres(events: Iterable[Event], windows: Windows) -> Table:
    table: Table = {}
    for start_ms, inside in _sliding(good_operations(events), windows):
        table[window_key(start_ms)] = {
            "window_start": time_text(start_ms),
            "window_end": time_text(start_ms + windows.active_ms),
            "centres": len({fields["centre"] for fields in inside}),
            "tenants": len({fields["tenant"] for fields in inside}),
            "users": len({fields["user"] for fields in inside}),
            "events": len(inside),
        }
    return table


def true_users(events: Iterable[Event], windows: Windows) -> Table:
    table: Table = {}
    for start_ms, inside in _sliding(good_operations(events), windows):
        for centre in {fields["centre"] for fields in inside}:
            here = [fields["user"] for fields in inside if fields["centre"] == centre]
            table[window_key(start_ms, centre)] = {
                "window_start": time_text(start_ms),
                "window_end": time_text(start_ms + windows.active_ms),
                "centre": centre,
                "users": len(set(here)),
                "events": len(here),
            }
    return table


def true_trends(events: Iterable[Event], windows: Windows) -> Table:
    table: Table = {}
    for (centre, start_ms), inside in _tumbling(good_operations(events), windows.trend_ms).items():
        latencies = sorted(fields["latency_us"] for fields in inside)
        quantiles = {name: latencies[ceil(share * len(latencies)) - 1] for name, share in _QUANTILES}
        table[window_key(start_ms, centre)] = {
            "window_start": time_text(start_ms),
            "window_end": time_text(start_ms + windows.trend_ms),
            "centre": centre,
            "events": len(inside),
            "errors": sum(fields["status"] == "error" for fields in inside),
            "per_second": len(inside) * 1000 / windows.trend_ms,
            **quantiles,
        }
    return table


def true_anomalies(events: Iterable[Event], rule: AnomalyRule) -> Table:
    means: dict[str, dict[int, int]] = defaultdict(dict)
    for (centre, start_ms), inside in _tumbling(good_operations(events), rule.window_ms).items():
        means[centre][start_ms] = floor(Fraction(sum(fields["latency_us"] for fields in inside), len(inside)))
    return {
        window_key(start_ms, centre): _point(centre, start_ms, series, rule)
        for centre, series in means.items()
        for start_ms in series
    }


def true_enriched(events: Iterable[Event], plans: Iterable[Event]) -> Counter[tuple[tuple[str, object], ...]]:
    """How often each, since two events may be alike; without the places that they come from."""
    latest: dict[str, bytes | None] = {event.key: event.value for event in plans if event.topic == TENANT_PLANS}
    counted: Counter[tuple[tuple[str, object], ...]] = Counter()
    for fields in good_operations(events):
        value = latest.get(fields["tenant"])
        plan = {} if value is None else {"plan": value.decode().rsplit('"', 2)[1]}
        counted[tuple(sorted({**fields, **plan}.items()))] += 1
    return counted


def _point(centre: str, start_ms: int, series: dict[int, int], rule: AnomalyRule) -> Fields:
    told: Fields = {
        "window_start": time_text(start_ms),
        "window_end": time_text(start_ms + rule.window_ms),
        "centre": centre,
        "mean_us": series[start_ms],
    }
    earliest = start_ms - rule.history * rule.window_ms
    before = [Fraction(mean) for at, mean in series.items() if earliest <= at < start_ms]
    if len(before) < rule.history_least:
        return {**told, "anomaly": False}
    average = sum(before) / len(before)
    variance = sum((mean - average) ** 2 for mean in before) / len(before)
    average_us = floor(average)
    # The root of a fraction, rounded down: that of its whole part is the same.
    deviation_us = isqrt(floor(variance))
    away_us = rule.deviations * max(deviation_us, average_us // rule.quiet_divisor)
    return {
        **told,
        "average_us": average_us,
        "deviation_us": deviation_us,
        "low_us": max(average_us - away_us, 0),
        "high_us": average_us + away_us,
        "anomaly": abs(series[start_ms] - average_us) > away_us,
    }


def _sliding(operations: list[Fields], windows: Windows) -> Iterable[tuple[int, list[Fields]]]:
    """Every window in which something happened, with what did."""
    ordered = sorted(operations, key=moment)
    times = [moment(fields) for fields in ordered]
    if not times:
        return
    slide = windows.active_slide_ms
    first = (times[0] - windows.active_ms) // slide * slide
    for start_ms in range(first, times[-1] + 1, slide):
        inside = ordered[bisect_left(times, start_ms) : bisect_left(times, start_ms + windows.active_ms)]
        if inside:
            yield start_ms, inside


def _tumbling(operations: list[Fields], window_ms: int) -> dict[tuple[str, int], list[Fields]]:
    by_window: dict[tuple[str, int], list[Fields]] = defaultdict(list)
    for fields in operations:
        by_window[fields["centre"], moment(fields) - moment(fields) % window_ms].append(fields)
    return by_window
