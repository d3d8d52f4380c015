"""The lag of a whole group."""

from typing import Any

from odradek.cli.groups_describe import Described, Row
from odradek.client.committed import Committed
from odradek.client.lag import Extent, Position
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition


def described(*committed: int | None) -> Described:
    """A group that committed these in partitions that end at 10."""
    log = Extent(Offset(0), Offset(10))
    rows = [
        Row(TopicPartition("orders", at), Position(None if each is None else Committed(Offset(each)), log), None, None)
        for at, each in enumerate(committed)
    ]
    nobody: Any = None
    return Described(nobody, rows)


def test_the_lag_of_a_group_is_that_of_the_partitions_where_it_committed() -> None:
    assert described(4, 9, None).lag == 6 + 1


def test_a_group_that_committed_nothing_has_no_known_lag() -> None:
    assert described(None, None).lag is None, "0 would say that it has read everything"


def test_a_group_with_no_partitions_has_nothing_to_read() -> None:
    assert described().lag == 0
