"""When a group may be assigned anew."""

from odradek.coordinators.groups.consumer.targets import is_due
from odradek.model.numbers import TimestampMs

ASSIGNED = TimestampMs(50_000)


def due(now_ms: int, interval_ms: int = 1_000) -> bool:
    return is_due(ASSIGNED, interval_ms, TimestampMs(now_ms))


def test_an_interval_lies_between_two_assignments() -> None:
    assert [due(now) for now in (50_000, 50_999, 51_000)] == [False, False, True]
    assert due(50_000, interval_ms=0)
    assert is_due(TimestampMs(0), 1_000, TimestampMs(10)), "it never was assigned"


def test_nobody_waits_for_a_clock_that_was_set_back() -> None:
    assert due(20_000)
