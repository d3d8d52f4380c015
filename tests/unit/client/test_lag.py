"""How far a group is behind, also where what it committed is not in the log."""

import pytest

from odradek.client.committed import Committed
from odradek.client.lag import Extent, Position
from odradek.model.numbers import Offset


def position(committed: int | None, start: int | None, end: int | None) -> Position:
    log = Extent(None if start is None else Offset(start), None if end is None else Offset(end))
    return Position(None if committed is None else Committed(Offset(committed)), log)


@pytest.mark.parametrize(
    ("committed", "start", "end", "lag"),
    [
        (4, 0, 10, 6),
        (10, 0, 10, 0),
        (4, 8, 10, 2),  # four records that nobody can read any more are no lag
        (4, 10, 10, 0),
        (12, 0, 10, 0),  # the topic was made anew, or lost its end
        (0, 0, 0, 0),
        (None, 0, 10, None),
        (4, None, None, None),
    ],
)
def test_lag(committed: int | None, start: int | None, end: int | None, lag: int | None) -> None:
    assert position(committed, start, end).lag == lag


def test_what_is_not_in_the_log_is_told_of() -> None:
    assert position(4, 0, 10).note is None
    assert position(10, 10, 10).note is None
    assert position(None, 0, 10).note is None
    assert position(4, 8, 10).note == "committed 4, but the log begins at 8: the lag counts from there"
    assert position(12, 0, 10).note == "committed 12, but the log ends at 10"
