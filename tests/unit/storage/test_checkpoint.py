"""Checkpoint files: text that a person can read, and that says where it stops making sense."""

from random import Random

import pytest

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.storage.checkpoint import pack_lines, parse_lines, parse_offsets, read_offsets, write_offsets
from support.disk import FaultyDisk, disks_after_death

OFFSETS = {TopicPartition("orders", 0): Offset(1500), TopicPartition("a.b-c_d", 12): Offset((1 << 63) - 1)}


def test_the_text_is_that_of_kafka() -> None:
    disk = FaultyDisk("/data")
    write_offsets(disk, "/data/points", OFFSETS)
    assert disk.tree("/data") == {"points": b"0\n2\norders 0 1500\na.b-c_d 12 9223372036854775807\n"}
    assert read_offsets(disk, "/data/points") == OFFSETS


def test_no_file_and_an_empty_file_are_no_offsets() -> None:
    disk = FaultyDisk("/data")
    assert read_offsets(disk, "/data/points") == {}
    disk.put("/data/points", b"")
    assert read_offsets(disk, "/data/points") == {}
    assert pack_lines([]) == b"0\n0\n"
    assert parse_offsets(b"0\n0\n", "points") == {}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\n", "line 1: '' is no number"),
        (b"x", "line 1: 'x' is no number"),
        (b"0", "no count in line 2"),
        (b"0\n", "no count in line 2"),
        (b"0\nmany\n", "line 2: 'many' is no number"),
        (b"0\n2\norders 0 5\n", "1 lines where line 2 announces 2"),
        (b"0\n1\norders 0 5\norders 1 6\n", "2 lines where line 2 announces 1"),
        (b"0\n1\norders 0\n", "line 3: 2 fields where 3 belong"),
        (b"0\n1\norders 0 5", "line 3: the end of the line is missing"),
        (b"0\n1\norders 0 5 6\n", "line 3: 4 fields where 3 belong"),
        (b"0\n2\norders 0 5\norders x 5\n", "line 4: 'x' is no number"),
        (b"0\n1\norders 0 \xd9\xa3\n", "line 3: '٣' is no number"),
        (b"0\n1\norders 0 " + b"9" * 5000 + b"\n", "line 3: .* is no number"),
        (b"0\n1\norders 0 9223372036854775808\n", "line 3: '9223372036854775808' is no number"),
        (b"\0" * 20, "line 1"),
        (b"\xff\xfe", "at 0: not text"),
    ],
)
def test_a_corrupt_file_is_named_with_its_line(data: bytes, said: str) -> None:
    with pytest.raises(CorruptFile, match=f"^some/points.*{said}"):
        parse_offsets(data, "some/points")


def test_a_newer_version_is_refused_as_such() -> None:
    with pytest.raises(NewerVersion, match="some/points, line 1: version 1 "):
        parse_lines(b"1\n0\n", "some/points")


def test_a_crash_leaves_the_old_offsets_or_the_new() -> None:
    disk = FaultyDisk("/data")
    old = {TopicPartition("orders", 0): Offset(1)}
    write_offsets(disk, "/data/points", old)
    for left in disks_after_death(disk, lambda tried: write_offsets(tried, "/data/points", OFFSETS)):
        assert read_offsets(left, "/data/points") in (old, OFFSETS)
        left.power_loss(Random(1))
        assert read_offsets(left, "/data/points") in (old, OFFSETS)
