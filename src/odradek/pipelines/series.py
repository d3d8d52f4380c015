"""The series of one data centre's latencies, and where it leaves its own band.

Sums and counts of windows are all that is kept; every point follows from them, so the order of events has no part in
it. All numbers are whole microseconds, rounded down.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isqrt

from odradek.pipelines.contract import AnomalyRule


@dataclass(frozen=True, slots=True)
class Bucket:
    """What one window has seen."""

    count: int
    sum_us: int

    @property
    def mean_us(self) -> int:
        return self.sum_us // self.count


@dataclass(frozen=True, slots=True)
class Point:
    start_ms: int
    mean_us: int
    average_us: int | None = None
    deviation_us: int | None = None
    low_us: int | None = None
    high_us: int | None = None
    anomaly: bool = False


def points(buckets: Mapping[int, Bucket], changed: Iterable[int], rule: AnomalyRule) -> list[Point]:
    """The points that change with these windows: their own, and those that have them in their history."""
    touched = sorted(
        {
            start + step * rule.window_ms
            for start in changed
            for step in range(rule.history + 1)
            if start + step * rule.window_ms in buckets
        }
    )
    return [_point(buckets, start, rule) for start in touched]


def _point(buckets: Mapping[int, Bucket], start_ms: int, rule: AnomalyRule) -> Point:
    mean_us = buckets[start_ms].mean_us
    history = range(start_ms - rule.history * rule.window_ms, start_ms, rule.window_ms)
    before = [buckets[start].mean_us for start in history if start in buckets]
    if len(before) < rule.history_least:
        return Point(start_ms, mean_us)
    count, total = len(before), sum(before)
    average_us = total // count
    deviation_us = isqrt(count * sum(mean * mean for mean in before) - total * total) // count
    away_us = rule.deviations * max(deviation_us, average_us // rule.quiet_divisor)
    return Point(
        start_ms,
        mean_us,
        average_us,
        deviation_us,
        max(average_us - away_us, 0),
        average_us + away_us,
        abs(mean_us - average_us) > away_us,
    )
