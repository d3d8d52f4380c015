"""A key belongs to the partition that its hash in Java says."""

import pytest

from odradek.coordinators import partitioning
from odradek.coordinators.partitioning import partition_of


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("", 0),
        ("test", 3_556_498 % 50),
        ("polygenelubricants", 0),  # the least of all numbers, which has no positive counterpart
        ("\N{GREEK SMALL LETTER OMEGA}", 969 % 50),
        ("\N{GRINNING FACE}", (0xD83D * 31 + 0xDE00) % 50),
    ],
)
def test_partition_of(key: str, partition: int) -> None:
    assert partition_of(key, 50) == partition


def test_long_keys_are_not_remembered() -> None:
    remembered = partitioning._remembered.cache_info().currsize
    assert partition_of("ab" * 20_000, 50) == partition_of("ab" * 20_000, 50)
    assert partitioning._remembered.cache_info().currsize == remembered
