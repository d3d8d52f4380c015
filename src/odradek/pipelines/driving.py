"""How long a driver has driven without a break.

What a driver did is kept as spans of driving with breaks between them. Moments may come in any order: spans only grow
and join, so the same moments give the same spans.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from odradek.pipelines.contract import FUTURE_MS, LATE_MS, DrivingRule


@dataclass(frozen=True, slots=True, order=True)
class Span:
    start_ms: int
    end_ms: int
    truck: str
    """The one in which it began."""
    told: bool = False


def joined(spans: Iterable[Span], rule: DrivingRule) -> list[Span]:
    """The same driving, with no two spans nearer than a break; in the order of their times."""
    apart: list[Span] = []
    for span in sorted(spans):
        if apart and span.start_ms - apart[-1].end_ms < rule.break_ms:
            last = apart[-1]
            apart[-1] = replace(last, end_ms=max(last.end_ms, span.end_ms), told=last.told or span.told)
        else:
            apart.append(span)
    return apart


def tell(spans: Iterable[Span], rule: DrivingRule) -> tuple[list[Span], list[Span]]:
    """The spans as told from now on, and those that were not told and are too long."""
    kept, news = [], []
    for span in spans:
        if span.end_ms - span.start_ms > rule.limit_ms and not span.told:
            news.append(span)
            span = replace(span, told=True)
        kept.append(span)
    return kept, news


def recent(spans: list[Span], rule: DrivingRule) -> list[Span]:
    """Those that a moment which still counts may touch: a driver's records come in the order in which they were sent,
    so none is further behind the newest than lateness and a clock ahead allow."""
    if not spans:
        return []
    horizon_ms = spans[-1].end_ms - LATE_MS - FUTURE_MS - rule.break_ms
    return [span for span in spans if span.end_ms >= horizon_ms]
