from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.batch import HEAD_SIZE, BatchHead, Codec, check_crc, parse_head, write_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import read_kraft_version, read_leader_change, read_snapshot_header, read_voters
from odradek.records.record import Record, check_records, read_records, scan

pytestmark = pytest.mark.slow

BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=10), BYTES), max_size=3).map(tuple)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIMES = st.integers(-1, 1 << 45)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Record], BatchSpec]:
    base = draw(st.integers(0, 1 << 60))
    deltas = sorted(draw(st.sets(st.integers(0, (1 << 31) - 1) | st.integers(0, 300), min_size=1, max_size=8)))
    records = [
        Record(Offset(base + delta), TimestampMs(draw(TIMES)), draw(BYTES), draw(BYTES), draw(HEADERS))
        for delta in deltas
    ]
    spec = BatchSpec(
        base_offset=Offset(base),
        leader_epoch=LeaderEpoch(draw(st.integers(-1, 1 << 30))),
        producer_id=ProducerId(draw(INT64)),
        producer_epoch=draw(st.integers(-(1 << 15), (1 << 15) - 1)),
        base_sequence=draw(st.integers(-1, (1 << 31) - 1)),
        transactional=draw(st.booleans()),
        control=draw(st.booleans()),
        codec=draw(st.sampled_from(Codec)),
        last_offset_delta=draw(st.none() | st.integers(deltas[-1], (1 << 31) - 1)),
        delete_horizon_ms=draw(st.none() | TIMES.map(TimestampMs)),
    )
    return records, spec


@given(batches())
def test_a_batch_gives_back_its_records(given_batch: tuple[list[Record], BatchSpec]) -> None:
    records, spec = given_batch
    batch = memoryview(build_batch(records, spec))
    head = parse_head(batch)
    check_crc(batch, head)
    check_records(batch, head)
    assert list(read_records(batch, head)) == records
    assert [(delta + head.base_offset, key, has) for delta, key, has in scan(batch, head)] == [
        (record.offset, record.key, record.value is not None) for record in records
    ]


@given(batches())
def test_a_batch_is_rebuilt_from_its_head_and_records(given_batch: tuple[list[Record], BatchSpec]) -> None:
    batch = build_batch(*given_batch)
    head = parse_head(batch)
    assert build_batch(read_records(memoryview(batch), head), BatchSpec.like(head)) == batch


def read_all_ways(batch: memoryview, head: BatchHead) -> tuple[bool, bool, bool]:
    """Whether read_records, check_records and scan took the batch. They may raise nothing but CorruptBatch."""
    took = []
    for reader in (read_records, check_records, scan):
        try:
            found = reader(batch, head, 1 << 20)
            took.append(found is None or len(list(found)) == head.count)
        except CorruptBatch:
            took.append(False)
    read, checked, scanned = took
    return read, checked, scanned


@given(batches(), st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=5))
def test_damage_raises_nothing_but_corrupt_batch(
    given_batch: tuple[list[Record], BatchSpec], changes: list[tuple[int, int]]
) -> None:
    batch = build_batch(*given_batch)
    for at, byte in changes:
        batch[at % len(batch)] = byte
    with suppress(CorruptBatch):
        head = parse_head(batch)
        read, checked, scanned = read_all_ways(memoryview(batch), head)
        # Each looks at less than the one before it: header keys need not be text, headers need not be there.
        assert read <= checked <= scanned


@given(
    st.binary(max_size=200),
    st.integers(-2, 10),
    st.integers(-2, 1000),
    st.integers(0, 15),
    INT64,
)
def test_garbage_for_records_raises_nothing_but_corrupt_batch(
    garbage: bytes, count: int, last: int, attributes: int, timestamp: int
) -> None:
    head = parse_head(build_batch([Record(Offset(0), TimestampMs(0), None, None)]))._replace(
        length=HEAD_SIZE - 12 + len(garbage),
        count=count,
        last_offset_delta=last,
        attributes=attributes,
        base_timestamp=TimestampMs(timestamp),
    )
    batch = bytearray(HEAD_SIZE) + garbage
    write_head(batch, head)
    read, checked, scanned = read_all_ways(memoryview(batch), parse_head(batch))
    assert read <= checked <= scanned


@given(st.binary(max_size=100))
def test_garbage_for_a_head_raises_nothing_but_corrupt_batch(garbage: bytes) -> None:
    with suppress(CorruptBatch):
        head = parse_head(garbage)
        check_crc(memoryview(garbage), head)
        read_all_ways(memoryview(garbage), head)


@given(st.sampled_from([read_leader_change, read_snapshot_header, read_kraft_version, read_voters]), st.binary())
def test_garbage_for_a_control_record_raises_nothing_but_corrupt_batch(reader: object, garbage: bytes) -> None:
    assert callable(reader)
    with suppress(CorruptBatch):
        reader(garbage)
