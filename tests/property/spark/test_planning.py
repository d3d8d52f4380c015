"""Whatever is cut, nothing is left out and nothing comes twice."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.model.topic_partition import TopicPartition
from odradek.spark.planning import gather, limit_bytes, limit_rows, split
from odradek.spark.reading.range import Range

OFFSETS = st.integers(0, 1 << 40)
BOUNDS = st.lists(st.tuples(OFFSETS, OFFSETS).map(sorted), min_size=1, max_size=8)


@given(BOUNDS, st.none() | st.integers(1, 50), st.none() | st.integers(1 << 35, 1 << 41))
def test_pieces_cover_the_ranges(bounds: list[list[int]], pieces_min: int | None, rows_max: int | None) -> None:
    ranges = [Range("t", bytes(16), number, start, end) for number, (start, end) in enumerate(bounds)]
    pieces = split(ranges, pieces_min=pieces_min, rows_max=rows_max)
    assert all(each.start < each.end for each in pieces)
    assert all(each.end - each.start <= rows_max for each in pieces) if rows_max else True
    for each in ranges:
        mine = [piece for piece in pieces if piece.partition == each.partition]
        edges = [each.start, *(piece.end for piece in mine)] if mine else [each.end]
        assert [piece.start for piece in mine] == edges[:-1]
        assert edges[-1] == each.end


@given(BOUNDS, st.integers(1, 12))
def test_tasks_have_each_range_once(bounds: list[list[int]], tasks_max: int) -> None:
    ranges = [Range("t", bytes(16), number, start, end) for number, (start, end) in enumerate(bounds)]
    tasks = gather(ranges, tasks_max)
    assert len(tasks) == min(len(ranges), tasks_max)
    assert sorted(each.partition for task in tasks for each in task) == list(range(len(ranges)))
    assert all(task for task in tasks)


@given(BOUNDS, st.integers(1, 1 << 41), st.floats(0.5, 1e6))
def test_a_limit_goes_on_in_every_partition_and_past_no_end(bounds: list[list[int]], most: int, size: float) -> None:
    starts = {TopicPartition("t", number): start for number, (start, _) in enumerate(bounds)}
    ends = {TopicPartition("t", number): end for number, (_, end) in enumerate(bounds)}
    by_rows = limit_rows(most, starts, ends)
    by_bytes = limit_bytes(most, starts, ends, dict.fromkeys(starts, size))
    for limited in (by_rows, by_bytes):
        assert limited.keys() == ends.keys()
        assert all(starts[each] < at <= ends[each] or at == starts[each] == ends[each] for each, at in limited.items())
    assert sum(by_rows.values()) - sum(starts.values()) <= most + len(starts)
