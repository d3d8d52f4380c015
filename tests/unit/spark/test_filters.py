"""What filters leave to fetch."""

from datetime import UTC, datetime

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from odradek.model.topic_partition import TopicPartition
from odradek.spark.filters import Narrowing, narrow


def filtered(*filters: Filter) -> Narrowing:
    return narrow(filters)


def test_topics_and_partitions() -> None:
    both = filtered(In(("topic",), ("a", "b")), EqualTo(("topic",), "b"), In(("partition",), (0, 2)))
    assert both.has(TopicPartition("b", 2))
    assert not both.has(TopicPartition("a", 2))
    assert not both.has(TopicPartition("b", 1))


def test_offsets() -> None:
    some = filtered(GreaterThan(("offset",), 4), GreaterThanOrEqual(("offset",), 3), LessThan(("offset",), 10))
    assert (some.offset_least, some.offset_most) == (5, 9)
    assert filtered(LessThanOrEqual(("offset",), 10)).offset_most == 10
    listed = filtered(In(("offset",), (7, 3, 5)))
    assert (listed.offset_least, listed.offset_most) == (3, 7)


def test_times_have_a_first_but_no_last() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    later = filtered(GreaterThanOrEqual(("timestamp",), noon), LessThan(("timestamp",), noon))
    assert later.time_ms_least is not None
    assert 0 <= noon.timestamp() * 1000 - later.time_ms_least <= 1
    assert filtered(LessThan(("timestamp",), noon)) == Narrowing()


def test_a_time_that_records_without_one_may_have_narrows_nothing() -> None:
    assert filtered(GreaterThanOrEqual(("timestamp",), datetime(1960, 1, 1, tzinfo=UTC))) == Narrowing()
    assert filtered(EqualTo(("timestamp",), datetime(1970, 1, 1, tzinfo=UTC))) == Narrowing()
    assert filtered(GreaterThan(("timestamp",), datetime(1970, 1, 2, tzinfo=UTC))).time_ms_least == 86_400_000 - 1


def test_a_time_without_a_zone_is_of_this_process() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC).astimezone().replace(tzinfo=None)
    assert filtered(EqualTo(("timestamp",), noon)).time_ms_least == 1_767_268_800_000 - 1


def test_what_says_nothing_of_use_is_passed_over() -> None:
    others = (Not(EqualTo(("partition",), 1)), StringStartsWith(("topic",), "a"), EqualTo(("value",), b"x"))
    assert filtered(*others, In(("offset",), ()), GreaterThan(("timestamp",), "noon")) == Narrowing()
