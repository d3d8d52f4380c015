"""Spans of driving: the same whatever the order, and each that is too long is told once."""

from itertools import pairwise
from random import Random

import pytest

from odradek.pipelines.contract import DrivingRule
from odradek.pipelines.driving import Span, joined, recent, tell

RULE = DrivingRule(limit_ms=6_000_000, break_ms=900_000)


def moments(rng: Random) -> list[int]:
    """Driving in steps of a minute, with stops, some of which are breaks."""
    now, made = 0, []
    for _ in range(300):
        now += 60_000 if rng.random() < 0.97 else rng.randrange(2_000_000)
        made.append(now)
    return made


@pytest.mark.parametrize("seed", range(30))
def test_order_and_cutting_do_not_matter(seed: int) -> None:
    rng = Random(seed)
    times = moments(rng)
    whole, told_at_once = tell(joined([Span(at, at, "t") for at in times], RULE), RULE)
    sent = sorted(times, key=lambda at: at + rng.randrange(120_000))  # as late as counts
    cuts = [0, *sorted(rng.sample(range(1, len(sent)), 9)), len(sent)]
    spans: list[Span] = []
    told_in_parts: list[Span] = []
    for start, end in pairwise(cuts):
        spans, news = tell(joined([*spans, *(Span(at, at, "t") for at in sent[start:end])], RULE), RULE)
        spans = recent(spans, RULE)
        told_in_parts += news
    assert [span.start_ms for span in told_in_parts] == [span.start_ms for span in told_at_once]
    assert spans[-1] == whole[-1]
    assert len(spans) <= 2


def test_nothing_of_nothing() -> None:
    assert joined([], RULE) == []
    assert recent([], RULE) == []
