"""Points of a series: those that change are told, and in parts they come to the same as at once."""

from random import Random

from odradek.pipelines.contract import AnomalyRule
from odradek.pipelines.series import Bucket, points

RULE = AnomalyRule(window_ms=1_000, history=4, history_least=2)


def test_in_parts_as_at_once() -> None:
    rng = Random(1)
    events = [(rng.randrange(30) * 1_000, rng.randrange(1, 10_000)) for _ in range(500)]
    whole: dict[int, Bucket] = {}
    told = {}
    for part in range(0, 500, 50):
        changed = set()
        for start, latency_us in events[part : part + 50]:
            before = whole.get(start, Bucket(0, 0))
            whole[start] = Bucket(before.count + 1, before.sum_us + latency_us)
            changed.add(start)
        told.update({point.start_ms: point for point in points(whole, changed, RULE)})
    assert sorted(told.values(), key=lambda point: point.start_ms) == points(whole, whole, RULE)


def test_only_what_has_a_window_in_its_history_changes_with_it() -> None:
    buckets = {start: Bucket(1, 100) for start in range(0, 10_000, 1_000)}
    assert [point.start_ms for point in points(buckets, [3_000], RULE)] == [3_000, 4_000, 5_000, 6_000, 7_000]
