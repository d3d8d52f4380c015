"""Limits and pieces, with figures that Spark's connector has for the same."""

from odradek.model.topic_partition import TopicPartition
from odradek.spark.planning import gather, limit_bytes, limit_rows, split
from odradek.spark.reading.range import Range

A, B, C = (TopicPartition("t", number) for number in range(3))


def ranges(*ends: int) -> list[Range]:
    return [Range("t", bytes(16), number, 0, end) for number, end in enumerate(ends)]


def pieces(found: list[Range]) -> list[tuple[int, int, int]]:
    return [(each.partition, each.start, each.end) for each in found]


def test_rows_are_shared_by_what_there_is() -> None:
    starts, ends = {A: 0, B: 100, C: 7}, {A: 300, B: 200, C: 7}
    assert limit_rows(40, starts, ends) == {A: 30, B: 110, C: 7}


def test_small_partitions_do_not_starve() -> None:
    assert limit_rows(10, {A: 0, B: 0}, {A: 100_000, B: 1}) == {A: 9, B: 1}


def test_a_limit_above_what_there_is_changes_nothing() -> None:
    ends = {A: 30, B: 20}
    assert limit_rows(1000, {A: 0, B: 0}, ends) == ends
    assert limit_bytes(10_000, {A: 0, B: 0}, ends, {A: 100, B: 100}) == ends
    assert limit_rows(5, {A: 30, B: 20}, ends) == ends


def test_bytes_are_shared_too() -> None:
    assert limit_bytes(10_000, {A: 0, B: 50}, {A: 1000, B: 150}, {A: 10, B: 100}) == {A: 500, B: 100}
    assert limit_bytes(100, {A: 0, B: 9}, {A: 1000, B: 9}, {A: 10}) == {A: 10, B: 9}


def test_no_split_without_a_wish_and_nothing_that_is_empty() -> None:
    assert pieces(split(ranges(10, 0, 3), pieces_min=None, rows_max=None)) == [(0, 0, 10), (2, 0, 3)]
    assert pieces(split(ranges(10, 4), pieces_min=2, rows_max=None)) == [(0, 0, 10), (1, 0, 4)]


def test_large_ranges_are_cut_to_get_to_a_number_of_pieces() -> None:
    assert pieces(split(ranges(5), pieces_min=3, rows_max=None)) == [(0, 0, 1), (0, 1, 3), (0, 3, 5)]
    assert pieces(split(ranges(1000, 10), pieces_min=3, rows_max=None)) == [(0, 0, 500), (0, 500, 1000), (1, 0, 10)]
    assert len(split(ranges(1, 10_000, 10_000), pieces_min=10, rows_max=None)) == 11
    assert len(split(ranges(*[100] * 9_000, 100_000), pieces_min=10_000, rows_max=None)) == 10_000


def test_small_ranges_share_a_task() -> None:
    assert [pieces(list(task)) for task in gather(ranges(10, 3), 2)] == [[(0, 0, 10)], [(1, 0, 3)]]
    assert [pieces(list(task)) for task in gather(ranges(10, 3), None)] == [[(0, 0, 10)], [(1, 0, 3)]]
    assert [pieces(list(task)) for task in gather(ranges(3, 10, 4, 2), 2)] == [
        [(1, 0, 10)],
        [(0, 0, 3), (2, 0, 4), (3, 0, 2)],
    ]
    assert gather([], 2) == []


def test_no_piece_has_more_than_so_many_rows() -> None:
    assert pieces(split(ranges(10, 3), pieces_min=None, rows_max=4)) == [(0, 0, 3), (0, 3, 6), (0, 6, 10), (1, 0, 3)]
    assert len(split(ranges(10, 3), pieces_min=8, rows_max=4)) >= 8
