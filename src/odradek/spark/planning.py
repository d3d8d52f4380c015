"""From offsets to what tasks read: how much at a time, and in how many pieces. The arithmetic of Spark's connector."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from odradek.model.topic_partition import TopicPartition
from odradek.spark.reading.range import Range

Offsets = Mapping[TopicPartition, int]


def limit_rows(rows_max: int, starts: Offsets, ends: Offsets) -> dict[TopicPartition, int]:
    """Ends that leave at most about so many offsets, with a share for each partition by what there is in it."""
    sizes = {each: end - starts[each] for each, end in ends.items() if end > starts[each]}
    total = sum(sizes.values())
    return _shortened(starts, ends, {each: rows_max * size / total for each, size in sizes.items()})


def limit_bytes(
    bytes_max: int, starts: Offsets, ends: Offsets, bytes_per_record: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """Ends that leave about so many bytes. Sizes are given for all partitions that have something to read."""
    sizes = {each: end - starts[each] for each, end in ends.items() if end > starts[each]}
    total = sum(size * bytes_per_record[each] for each, size in sizes.items())
    share = min(1.0, bytes_max / total) if total else 1.0
    return _shortened(starts, ends, {each: size * share for each, size in sizes.items()})


def _shortened(starts: Offsets, ends: Offsets, wanted: Mapping[TopicPartition, float]) -> dict[TopicPartition, int]:
    """A partition with anything in it gets at least one offset further: none is to starve."""
    return {
        each: min(end, starts[each] + max(1, math.floor(wanted[each]))) if each in wanted else end
        for each, end in ends.items()
    }


def split(ranges: Sequence[Range], *, pieces_min: int | None, rows_max: int | None) -> list[Range]:
    """Ranges without those that are empty, none with more than `rows_max` offsets, and about `pieces_min` or more.

    Only large ranges are cut to get there, so the number is not exact.
    """
    found = [each for each in ranges if each.end > each.start]
    if rows_max is not None:
        found = [piece for each in found for piece in _cut(each, math.ceil(_size(each) / rows_max))]
    if pieces_min is None or len(found) >= pieces_min:
        return found
    total = sum(map(_size, found))
    large = [each for each in found if _share(each, total, pieces_min) > 1]
    rest = sum(map(_size, large))
    pieces = max(1, pieces_min - len(found) + len(large))
    return [
        piece
        for each in found
        for piece in _cut(each, _share(each, rest, pieces) if _share(each, total, pieces_min) > 1 else 1)
    ]


def gather(ranges: Sequence[Range], tasks_max: int | None) -> list[tuple[Range, ...]]:
    """What each task reads: a range of its own, or where there are more ranges than tasks several, of about as many
    offsets in all tasks. The same for the same ranges."""
    if tasks_max is None or len(ranges) <= tasks_max:
        return [(each,) for each in ranges]
    tasks: list[list[Range]] = [[] for _ in range(tasks_max)]
    offsets = [0] * tasks_max
    for each in sorted(ranges, key=_size, reverse=True):
        least = min(range(tasks_max), key=lambda number: (offsets[number], len(tasks[number])))
        tasks[least].append(each)
        offsets[least] += _size(each)
    return [tuple(sorted(each, key=_place)) for each in tasks]


def _place(each: Range) -> tuple[str, int, int]:
    return (each.topic, each.partition, each.start)


def _size(each: Range) -> int:
    return each.end - each.start


def _share(each: Range, total: int, pieces: int) -> int:
    return max(1, math.floor(_size(each) / total * pieces + 0.5))


def _cut(each: Range, pieces: int) -> list[Range]:
    edges = [each.start + _size(each) * number // pieces for number in range(pieces + 1)]
    return [replace(each, start=start, end=end) for start, end in pairwise(edges) if end > start]
