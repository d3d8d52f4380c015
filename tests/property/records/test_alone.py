"""A batch with a single record that is read in one go is read as any other, or not at all."""

from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.alone import read_alone
from odradek.records.batch import Codec, check_crc, parse_head
from odradek.records.builder import PLAIN, BatchSpec, build_batch, build_run
from odradek.records.record import Record, read_records

TIMES = st.integers(0, 1 << 50)
OFFSETS = st.integers(0, 1 << 60)
KEYS = st.binary(max_size=300)
VALUES = st.none() | st.binary(max_size=300) | st.sampled_from((bytes(8191), bytes(8192), bytes(20_000)))
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple)
SPECS = st.sampled_from(
    (
        PLAIN,
        BatchSpec(last_offset_delta=3),
        BatchSpec(codec=Codec.GZIP),
        BatchSpec(producer_id=ProducerId(7), producer_epoch=0, base_sequence=0),
        BatchSpec(delete_horizon_ms=TimestampMs(5)),
    )
)


@given(TIMES, KEYS, st.none() | st.binary(max_size=4000), st.binary(max_size=20))
def test_what_coordinators_write_is_read(time: int, key: bytes, value: bytes | None, after: bytes) -> None:
    batch = bytes(build_run([(key, value)], TimestampMs(time), Codec.NONE).batch)
    assert read_alone(b"before" + batch + after, 6) == (0, key, value, 6 + len(batch))


@given(st.none() | KEYS, VALUES, HEADERS, SPECS, st.integers(0, 2))
def test_any_batch_is_read_as_by_others_or_left_to_them(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...],
    spec: BatchSpec,
    more: int,
) -> None:
    records = [Record(Offset(number), TimestampMs(9 + number), key, value, headers) for number in range(1 + more)]
    batch = bytes(build_batch(records[-1:] if spec.last_offset_delta else records, spec))
    found = read_alone(batch, 0)
    if found is not None:
        _check(batch, found)


@given(KEYS, VALUES, OFFSETS, st.integers(0, 10_000), st.integers(0, 255), st.booleans())
def test_damage_is_left_to_others(
    key: bytes, value: bytes | None, offset: int, at: int, byte: int, is_sealed: bool
) -> None:
    place = Offset(offset)
    batch = build_batch([Record(place, TimestampMs(7), key, value)], BatchSpec(base_offset=place))
    batch[at % len(batch)] = byte
    if is_sealed:
        batch = _sealed(batch)
    found = read_alone(bytes(batch), 0)
    if found is not None:
        _check(bytes(batch), found)


@given(KEYS, st.integers(0, 500))
def test_a_batch_that_is_cut_is_left_to_others(key: bytes, size: int) -> None:
    batch = bytes(build_run([(key, b"value")], TimestampMs(7), Codec.NONE).batch)
    assert read_alone(batch[: min(size, len(batch) - 1)], 0) is None


def _check(batch: bytes, found: tuple[Offset, bytes, bytes | None, int]) -> None:
    head = parse_head(batch)
    check_crc(memoryview(batch), head)
    ((offset, _, key, value, headers),) = read_records(memoryview(batch), head)
    assert (offset, key, value, head.size, head.next_offset) == (*found, offset + 1)
    assert not headers
    assert head.producer_id == -1
    assert not head.is_control


def _sealed(batch: bytearray) -> bytearray:
    """With the CRC that its bytes have."""
    try:
        check_crc(memoryview(batch), parse_head(batch))
    except CorruptBatch:
        batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    return batch
