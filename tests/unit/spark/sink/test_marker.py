"""Markers are read as they were written, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.committed import Committed
from odradek.model.numbers import Offset
from odradek.spark.sink.errors import BadMarker
from odradek.spark.sink.marker import Marker, from_committed, to_committed

NUMBERS = st.integers(0, (1 << 63) - 1)
MARKERS = st.builds(Marker, NUMBERS, NUMBERS, st.integers(0, (1 << 64) - 1), st.none() | st.integers(1, 100_000))


@given(MARKERS)
def test_round_trip(marker: Marker) -> None:
    committed = to_committed(marker)
    assert from_committed(committed, "group g") == marker
    assert len(committed.metadata) < 4096, "brokers take no more"


@pytest.mark.parametrize(
    "metadata", ["", "null", "{}", "[1]", '{"version": 1}', '{"version": 1, "rows": 1, "hash": 7}']
)
def test_another_offset_is_no_marker(metadata: str) -> None:
    with pytest.raises(BadMarker, match="group g has a committed offset that is no marker; set transactionalIdPrefix"):
        from_committed(Committed(Offset(3), metadata), "group g")


def test_a_marker_of_a_later_release() -> None:
    with pytest.raises(BadMarker, match="of version 2: a later release has written it"):
        from_committed(Committed(Offset(3), '{"version": 2}'), "group g")
