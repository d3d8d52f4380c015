"""A batch of keys and values that is made in one pass is the one that is made record by record."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec, parse_head
from odradek.records.builder import BatchSpec, build_batch, build_run
from odradek.records.record import Record

ENTRIES = st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=20_000)), min_size=1, max_size=200)


@given(ENTRIES, st.integers(0, 1 << 50), st.sampled_from(Codec))
def test_a_run_is_a_batch(entries: list[tuple[bytes, bytes | None]], time: int, codec: Codec) -> None:
    timestamp = TimestampMs(time)
    records = [Record(Offset(number), timestamp, key, value) for number, (key, value) in enumerate(entries)]
    batch, head = build_run(entries, timestamp, codec)
    assert batch == build_batch(records, BatchSpec(codec=codec))
    assert head == parse_head(batch)
