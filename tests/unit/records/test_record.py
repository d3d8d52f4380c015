from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, BatchHead, Codec, check_crc, parse_head, write_head
from odradek.records.builder import PLAIN, BatchSpec, build_batch
from odradek.records.record import Record, check_records, read_records, scan
from odradek.records.varint import write_signed

RECORDS = [
    Record(Offset(0), TimestampMs(1000), b"key", b"value"),
    Record(Offset(1), TimestampMs(900), None, b""),
    Record(Offset(2), TimestampMs(1_700_000_000_000), b"", None),
    Record(
        Offset(5), TimestampMs(1000), b"k" * 300, b"v" * 70_000, (("h", b"1"), ("h", None), ("ключ", b""), ("", b"x"))
    ),
]

Reader = Callable[[memoryview, BatchHead], object]
READERS: list[Reader] = [lambda batch, head: list(read_records(batch, head)), check_records]


def read(batch: bytearray) -> list[Record]:
    return list(read_records(memoryview(batch), parse_head(batch)))


def with_body(body: bytes, **changes: int) -> tuple[memoryview, BatchHead]:
    """A batch with these bytes for records; the head speaks of one record unless changed."""
    head = parse_head(build_batch([Record(Offset(0), TimestampMs(0), None, None)]))
    head = head._replace(length=HEAD_SIZE + len(body) - 12, **changes)  # type: ignore[arg-type]
    batch = bytearray(HEAD_SIZE) + body
    write_head(batch, head)
    return memoryview(batch), parse_head(batch)


def record(body: str) -> bytes:
    """A record from its bytes in hex, with the right length in front."""
    data = bytes.fromhex(body)
    return write_signed(len(data)) + data


@pytest.mark.parametrize("codec", Codec)
def test_records_come_back_as_they_were(codec: Codec) -> None:
    assert read(build_batch(RECORDS, BatchSpec(codec=codec))) == RECORDS


def test_offsets_start_at_the_base_offset() -> None:
    batch = build_batch(
        [Record(Offset(1 << 40), TimestampMs(0), b"k", None)], BatchSpec(base_offset=Offset((1 << 40) - 7))
    )
    assert [found.offset for found in read(batch)] == [1 << 40]


def test_a_scan_tells_keys_and_whether_there_are_values() -> None:
    batch = memoryview(build_batch(RECORDS))
    assert list(scan(batch, parse_head(batch))) == [
        (0, b"key", True),
        (1, None, True),
        (2, b"", False),
        (5, b"k" * 300, True),
    ]


def test_timestamps_count_from_a_delete_horizon_too() -> None:
    batch = build_batch(RECORDS[:2], BatchSpec(delete_horizon_ms=TimestampMs(5_000_000)))
    assert parse_head(batch).delete_horizon_ms == 5_000_000
    assert read(batch) == RECORDS[:2]


def test_an_empty_batch_has_no_records() -> None:
    for codec in Codec:
        batch, head = with_body(b"", count=0, attributes=codec.value)
        assert list(read_records(batch, head)) == []
        check_records(batch, head)


def test_the_attributes_of_a_record_say_nothing() -> None:
    batch, head = with_body(record("ff 00 00 01 01 00"))
    assert list(read_records(batch, head)) == [Record(Offset(0), TimestampMs(0), None, None)]


def test_every_negative_length_is_null() -> None:
    batch, head = with_body(record("00 00 00 03 05 02 02 61 07"))
    assert list(read_records(batch, head)) == [Record(Offset(0), TimestampMs(0), None, None, (("a", None),))]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "is cut off"),
        (record("00 00 00 01 01 00") + b"\x00", "1 bytes are left after the last of 1 records"),
        (record("00 00 00 01 01 00") * 2, "7 bytes are left"),
        (b"\x0b" + record("00 00 00 01 01 00")[1:], "not as long as it says"),  # a length of -6
        (b"\x0a" + record("00 00 00 01 01 00")[1:], "not as long as it says"),  # of 5
        (b"\x0e" + record("00 00 00 01 01 00")[1:], "not as long as it says"),  # of 7
        (record("00 00 00 01"), "is cut off"),
        (record("00 00 00 01 01"), "not as long as it says"),
        (record("00 00 00 7e 61 01 00"), "is cut off"),  # a key of 63 bytes
        (record("00 00 00 01 7e 61 00"), "not as long as it says"),  # a value of 63 bytes
        (record("00 00 01 01 01 00"), "offset delta out of order"),  # -1
        (record("00 00 02 01 01 00"), "offset delta out of order"),  # 1, where the head says 0
        (record("00 00 ffffffffff 01 01 00"), "32 bits"),
        (record("00 ffffffffffffffffffff 00 01 01 00"), "64 bits"),
        (record("00 00 00 ffffffffff01 01 00"), "32 bits"),
        (record("00 00 00 01 01 01"), "header count of -1"),
        (record("00 00 00 01 01 80808008"), "header count of 8388608"),
        (record("00 00 00 01 01 02 01 01"), "a key that is null"),
        (record("00 00 00 01 01 02 00 01 00"), "end at"),
        (record("00 00 00 01 01 04 00 01"), "are cut off"),
        (record("00 00 00 01 01 02 00 40 61"), "end at"),
        (record("00 00 00 01 01 02 ffffffffff 01"), "32 bits"),
    ],
)
def test_what_is_no_record_is_refused_with_its_place(reader: Reader, body: bytes, complaint: str) -> None:
    batch, head = with_body(body)
    check_crc(batch, head)
    with pytest.raises(CorruptBatch, match=complaint):
        reader(batch, head)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("count", [-1, 0, 2, (1 << 31) - 1])
def test_the_count_must_be_that_of_the_head(reader: Reader, count: int) -> None:
    batch, head = with_body(record("00 00 00 01 01 00"), count=count)
    with pytest.raises(CorruptBatch):
        reader(batch, head)


@pytest.mark.parametrize("reader", READERS)
def test_offsets_must_rise(reader: Reader) -> None:
    body = record("00 00 02 01 01 00") + record("00 00 02 01 01 00")
    batch, head = with_body(body, count=2, last_offset_delta=5)
    with pytest.raises(CorruptBatch, match="record 1 at 7 has an offset delta out of order"):
        reader(batch, head)


@pytest.mark.parametrize("reader", READERS)
def test_timestamps_must_fit_into_64_bits(reader: Reader) -> None:
    late = (1 << 63) - 1
    batch, head = with_body(record("00 02 00 01 01 00"), base_timestamp=late)
    with pytest.raises(CorruptBatch, match="64 bits"):
        reader(batch, head)
    batch, head = with_body(record("00 02 00 01 01 00"), base_timestamp=late, attributes=8)
    reader(batch, head)  # with LogAppendTime, the delta says nothing


def test_header_keys_that_are_not_text_come_out_as_they_went_in() -> None:
    batch, head = with_body(record("00 00 00 01 01 02 02 ff 01"))
    check_records(batch, head)
    (found,) = read_records(batch, head)
    assert found.headers == (("\udcff", None),)
    again = memoryview(build_batch([found]))
    assert again[61:] == batch[61:]


@pytest.mark.parametrize("reader", READERS)
def test_a_view_must_be_exactly_the_batch(reader: Reader) -> None:
    batch = memoryview(build_batch(RECORDS))
    for view in (batch[:-1], memoryview(bytes(batch) + b"\x00")):
        with pytest.raises(CorruptBatch, match="given as"):
            reader(view, parse_head(batch))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_limit_bounds_what_is_inflated(codec: Codec) -> None:
    batch = memoryview(build_batch(RECORDS, BatchSpec(codec=codec)))
    head = parse_head(batch)
    readers: list[Callable[[int], Iterator[object]]] = [
        lambda limit: read_records(batch, head, limit),
        lambda limit: scan(batch, head, limit),
    ]
    for limited in readers:
        assert len(list(limited(80_000))) == len(RECORDS)
        with pytest.raises(CorruptBatch):
            list(limited(60_000))


def test_an_unknown_codec_is_corrupt() -> None:
    batch, head = with_body(record("00 00 00 01 01 00"), attributes=6)
    with pytest.raises(CorruptBatch, match="codec 6"):
        list(read_records(batch, head))


@pytest.mark.parametrize("codec", Codec)
def test_a_changed_byte_is_found_by_the_crc_and_hurts_no_reader(codec: Codec) -> None:
    batch = build_batch(RECORDS[:3], BatchSpec(codec=codec))
    for at in range(len(batch)):
        changed = bytearray(batch)
        changed[at] ^= 0xFF
        for reader in READERS:
            with suppress(CorruptBatch):
                reader(memoryview(changed), parse_head(changed))
        if at not in range(8) and at not in range(12, 16):  # base offset and leader epoch, which the log stamps
            with pytest.raises(CorruptBatch):
                check_crc(memoryview(changed), parse_head(changed))


def test_plain_is_what_is_built_by_default() -> None:
    assert build_batch(RECORDS) == build_batch(RECORDS, PLAIN)
