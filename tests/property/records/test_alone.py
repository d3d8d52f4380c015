"""A record that is read as the only one of its batch is the one that all readers find there."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, parse_head
from odradek.records.builder import build_batch
from odradek.records.record import Record, read_alone, read_records

TIMES = st.integers(0, 1 << 50)
VALUES = st.none() | st.binary(max_size=20_000)
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple)


@given(TIMES, st.none() | st.binary(max_size=300), VALUES, HEADERS)
def test_it_is_read_or_left_to_others(
    time: int, key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    batch = bytes(build_batch([Record(Offset(0), TimestampMs(time), key, value, headers)]))
    is_simple = key is not None and not headers
    assert read_alone(batch, HEAD_SIZE, len(batch)) == ((key, value) if is_simple else None)


@given(st.binary(max_size=40))
def test_garbage_is_left_to_others_who_refuse_it(garbage: bytes) -> None:
    found = read_alone(garbage, 0, len(garbage))
    if found is None:
        return
    whole = bytearray(build_batch([Record(Offset(0), TimestampMs(0), b"", None)]))[:HEAD_SIZE] + garbage
    whole[8:12] = (len(whole) - 12).to_bytes(4, "big")
    ((_, _, key, value, _),) = read_records(memoryview(whole), parse_head(whole))
    assert (key, value) == found
