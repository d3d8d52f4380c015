"""Keys and places of records, against what read_records says of the same batch."""

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.records.spans import inflate, note_keys, read_spans
from odradek.records.varint import unzigzag

KEYS = [b"", b"k", None, b"x" * 63, b"x" * 64, b"y" * 9000, b"z" * (1 << 20)]
VALUES = [None, b"", b"v", b"v" * 60, b"v" * 8200, b"v" * (1 << 20)]
TIMES = [0, 63, 64, -65, 1 << 20, 1 << 40, -(1 << 40)]
RECORDS = [
    Record(
        Offset(number * 70),
        TimestampMs(1 << 41) if number == 0 else TimestampMs((1 << 41) + TIMES[number % len(TIMES)]),
        KEYS[number % len(KEYS)],
        VALUES[number % len(VALUES)],
        (("h", b"1"),) if number % 3 == 0 else (),
    )
    for number in range(len(KEYS) * len(VALUES))
]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_all_sizes_of_numbers(codec: Codec) -> None:
    batch = memoryview(build_batch(RECORDS, BatchSpec(codec=codec)))
    head = parse_head(batch)
    data = inflate(batch, head)
    starts = [0]
    while starts[-1] < len(data):
        starts += (end for _, _, _, end, _ in read_spans(data, starts[-1:]))
    assert starts.pop() == len(data)
    places: dict[bytes, int] = {}
    note_keys(data, head.count, 1000, places)
    pairs = zip(RECORDS, starts, strict=True)
    assert places == {record.key: 1000 + start for record, start in pairs if record.key is not None}
    spans = read_spans(data, starts)
    assert [start for start, *_ in spans] == starts
    assert [head.base_timestamp + unzigzag(delta) for _, delta, *_ in spans] == [each.timestamp for each in RECORDS]
    assert [is_tombstone for *_, is_tombstone in spans] == [record.value is None for record in RECORDS]
    assert all(data[after - 1] < 0x80 and after > start + 2 for start, _, after, _, _ in spans)


GOOD = bytes.fromhex("1000000002610262 00 10000002026102 6200".replace(" ", ""))
"""Two records: key a, value b, no headers."""
BAD = {
    "a byte too few": GOOD[:-1],
    "a byte too many": GOOD + b"\0",
    "a record too many": GOOD + GOOD[:9],
    "a record too few": GOOD[:9],
    "longer than the rest": GOOD[:9] + b"\x12" + GOOD[10:],
    "an endless number": b"\xff" * 40,
    "an endless time": GOOD[:2] + b"\xff" * 40,
}


def test_the_good_one_is_good() -> None:
    places: dict[bytes, int] = {}
    note_keys(GOOD, 2, 5, places)
    assert places == {b"a": 5 + 9}
    note_keys(b"", 0, 5, places)


@pytest.mark.parametrize("what", BAD)
def test_what_is_not_filled_exactly_is_refused(what: str) -> None:
    with pytest.raises(CorruptBatch):
        note_keys(BAD[what], 2, 0, {})


def test_a_key_that_is_longer_than_all_is_refused_when_its_record_is_read() -> None:
    data = GOOD[:-5] + b"\x7e" + GOOD[-4:]
    note_keys(data, 2, 0, {})
    with pytest.raises(CorruptBatch):
        read_spans(data, [9])
